"""Images: lenses, and the surfaces seen through them."""
