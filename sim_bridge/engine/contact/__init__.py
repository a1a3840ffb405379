"""What contacts do: rows, surface laws, islands and the solvers of the contact problem."""
