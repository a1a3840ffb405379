"""
Parser from OpenPLX text to a tree.

After a defect the parser continues with the next statement, so one run finds several defects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

from sim_bridge.description.openplx.syntax import (
    Annotation,
    Array,
    Assignment,
    Block,
    Call,
    Declaration,
    Deletion,
    Document,
    Expression,
    Function,
    Import,
    Index,
    Literal,
    Member,
    Model,
    Negation,
    Operation,
    Parameter,
    Path,
    Statement,
    Type,
    With,
)
from sim_bridge.description.openplx.tokens import Kind, Report, Token, tokenize
from sim_bridge.foundation.errors import brief

# limit on nested brackets, signs before a value, members of calls, and blocks
_MOST_LEVELS = 40
_MOST_NAMES = 200
_MOST_TERMS = 2000
_DELETIONS = ('del', 'delete')
_KINDS = ('const', 'trait')

_Item = TypeVar('_Item')


class _SyntaxError(Exception):
    """Malformed statement, with the failing token."""

    def __init__(self, token: Token, message: str, code: str = 'syntax'):
        super().__init__(message)
        self.token, self.code = token, code


def parse(text: str, report: Report) -> Document:
    """Return the tree for a file; defects are reported and left out."""
    try:
        tokens = tokenize(text, report)
    except ValueError as err:
        message, line = err.args
        report('too-large', line, 1, message)
        return Document((), (), (), ())
    return _Parser(tokens, report).document()


class _Parser:
    def __init__(self, tokens: list[Token], report: Report):
        self._tokens, self._report = tokens, report
        self._at = 0
        self._levels = 0
        # open brackets
        self._open: list[Token] = []

    # -- tokens ------------------------------------------------------------------------------

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _is(self, text: str, ahead: int = 0) -> bool:
        """Whether a sign or word comes next."""
        token = self._tokens[min(self._at + ahead, len(self._tokens) - 1)]
        return token.text == text and token.kind in (Kind.SIGN, Kind.NAME)

    def _comes(self, kind: Kind, ahead: int = 0) -> bool:
        return self._tokens[min(self._at + ahead, len(self._tokens) - 1)].kind is kind

    def _take(self) -> Token:
        token = self._tokens[self._at]
        if token.kind is not Kind.END:
            self._at += 1
        return token

    def _skip(self, text: str) -> bool:
        """Take a sign or word if it comes next."""
        if self._is(text):
            self._at += 1
            return True
        return False

    def _expect(self, text: str) -> Token:
        if not self._is(text):
            self._fail(f'expected {text!r}')
        return self._take()

    def _name(self, expected: str) -> Token:
        if not self._comes(Kind.NAME):
            self._fail(f'expected {expected}')
        return self._take()

    def _fail(self, expected: str) -> NoReturn:
        token = self._next
        found = token.kind.value if token.kind in _UNSEEN else brief(token.text)
        where = ''
        if self._open and self._open[-1].line != token.line:
            where = f'; {self._open[-1].text!r} in line {self._open[-1].line} is open'
        raise _SyntaxError(token, f'{expected}, found {found}{where}')

    def _end_line(self) -> None:
        if not self._comes(Kind.LINE) and not self._comes(Kind.END):
            self._fail('expected the end of the line')
        self._take()

    def _recover(self, start: int, err: _SyntaxError) -> None:
        """Report a defect and continue after the statement's line and block."""
        self._report(err.code, err.token.line, err.token.column, str(err))
        self._levels = 0
        self._open.clear()
        self._at = max(self._at, start)
        while not (self._comes(Kind.LINE) or self._comes(Kind.END)):
            self._at += 1
        if self._comes(Kind.LINE):
            self._take()
        if self._comes(Kind.INDENT):
            self._skip_block()
        if self._at == start and not self._comes(Kind.END):
            self._at += 1

    def _skip_block(self) -> None:
        depth = 0
        while not self._comes(Kind.END):
            kind = self._take().kind
            depth += (kind is Kind.INDENT) - (kind is Kind.DEDENT)
            if not depth:
                return

    def _deeper(self) -> None:
        self._levels += 1
        if self._levels > _MOST_LEVELS:
            self._too_deep(f'{_MOST_LEVELS} levels')

    def _too_deep(self, most: str) -> NoReturn:
        raise _SyntaxError(self._next, f'nested too deeply: {most} are read', 'too-deep')

    # -- files -------------------------------------------------------------------------------

    def document(self) -> Document:
        """Return the tree for the whole file."""
        found: dict[type, list[object]] = {Import: [], Model: [], Declaration: [], Function: []}
        while not self._comes(Kind.END):
            start = self._at
            try:
                if self._comes(Kind.LINE) or self._comes(Kind.DEDENT):
                    self._take()
                    continue
                if self._comes(Kind.INDENT):
                    raise _SyntaxError(
                        self._next, 'an indented line outside a model', 'indentation'
                    )
                statement = self._top_level()
                found[type(statement)].append(statement)
            except _SyntaxError as err:
                if self._tokens[start].kind is Kind.INDENT:
                    self._report(err.code, err.token.line, err.token.column, str(err))
                    self._at = start
                    self._skip_block()
                else:
                    self._recover(start, err)
        imports, models, declarations, functions = map(tuple, found.values())
        return Document(imports, models, declarations, functions)  # type: ignore[arg-type]

    def _top_level(self) -> Import | Model | Declaration | Function:
        token = self._next
        if self._is('import') and self._comes(Kind.PATH, 1):
            return self._import()
        if self._is('operator') and not self._comes(Kind.LINE, 1) and not self._is('is', 1):
            self._take()
            if self._next.text not in ('+', '-', '*', '/'):
                self._fail("expected '+', '-', '*' or '/'")
            return self._function(token, self._take().text)
        kind = 'model'
        if token.text in _KINDS and self._comes(Kind.NAME, 1) and not self._is('is', 1):
            kind = self._take().text
        name = self._name('a model, an attribute, an import or an operator')
        if kind == 'model' and self._is('is'):
            start = self._at
            self._take()
            declared = self._type()
            if (
                declared.is_array
                or len(declared.alternatives) > 1
                or (self._is(':') and not self._comes(Kind.LINE, 1))
            ):
                value = self._value() if self._is(':') else None
                if value is None:
                    self._end_line()
                return Declaration(token.line, token.column, (name.text,), declared, value)
            self._at = start
        base = self._path('a model') if self._skip('is') else None
        traits = self._paths('a trait') if self._skip('with') else ()
        block: Block = ()
        if self._is(':'):
            self._take()
            block = self._block()
        else:
            self._end_line()
        return Model(token.line, token.column, kind, name.text, base, traits, block)

    def _import(self) -> Import:
        token = self._take()
        file = self._take().text
        alias = self._path('a name').names if self._skip('as') else ()
        self._end_line()
        return Import(token.line, token.column, file, alias)

    # -- statements --------------------------------------------------------------------------

    def _block(self) -> Block:
        """Return an indented block's statements, after its colon."""
        self._end_line()
        if not self._comes(Kind.INDENT):
            raise _SyntaxError(self._next, 'expected an indented block', 'indentation')
        self._take()
        self._deeper()
        levels = self._levels
        statements: list[Statement] = []
        opened = 1
        while opened and not self._comes(Kind.END):
            start = self._at
            try:
                if self._comes(Kind.DEDENT):
                    self._take()
                    opened -= 1
                elif self._comes(Kind.LINE):
                    self._take()
                elif self._comes(Kind.INDENT):
                    # some bundles indent members deeper than the annotation above
                    if not statements or not isinstance(statements[-1], Annotation):
                        raise _SyntaxError(
                            self._next,
                            "indented deeper than the line above, which does not end in ':'",
                            'indentation',
                        )
                    self._take()
                    opened += 1
                else:
                    statements.append(self._statement())
            except _SyntaxError as err:
                if self._tokens[start].kind is Kind.INDENT:
                    self._report(err.code, err.token.line, err.token.column, str(err))
                    self._take()
                    opened += 1
                else:
                    self._recover(start, err)
            self._levels = levels
        self._levels = levels - 1
        return tuple(statements)

    def _statement(self) -> Statement:
        token = self._next
        if self._is('.'):
            self._take()
            name = self._name('the name of an annotation').text
            self._expect(':')
            annotation = Annotation(token.line, token.column, name, self._expression())
            self._end_line()
            return annotation
        # keywords are names too: `with`, `optional` … are keywords only before a name
        is_word = self._comes(Kind.NAME, 1) and not (self._is('is', 1) or self._is('becomes', 1))
        if is_word:
            if self._is('with'):
                self._take()
                traits = self._paths('a trait')
                self._end_line()
                return With(token.line, token.column, traits)
            if token.text in _DELETIONS:
                self._take()
                names = self._path('a member').names
                self._end_line()
                return Deletion(token.line, token.column, names)
            if self._is('fn') or self._is('static') and self._is('fn', 1):
                is_static = self._skip('static')
                self._take()
                return self._function(token, self._name('the name of a function').text, is_static)
        is_optional = is_word and self._skip('optional')
        names = self._path('a member').names
        if self._is('is') or self._is('becomes'):
            becomes = self._take().text == 'becomes'
            declared = self._type()
            value: Expression | Block | None = None
            if self._is(':'):
                value = self._value()
            else:
                self._end_line()
            return Declaration(
                token.line, token.column, names, declared, value, is_optional, becomes
            )
        if not self._is(':'):
            self._fail("expected 'is', 'becomes' or ':'")
        return Assignment(token.line, token.column, names, self._value())

    def _value(self) -> Expression | Block:
        """Return the value after a colon: an expression or a block."""
        self._expect(':')
        if self._comes(Kind.LINE):
            return self._block()
        value = self._expression()
        self._end_line()
        return value

    def _function(self, start: Token, name: str, is_static: bool = False) -> Function:
        self._expect('(')
        parameters = self._list(')', self._parameter)
        result = self._type() if self._skip('->') else None
        self._end_line()
        return Function(start.line, start.column, name, parameters, result, is_static)

    def _parameter(self) -> Parameter:
        name = self._name('a parameter')
        self._expect(':')
        return Parameter(name.line, name.column, name.text, self._type())

    def _type(self) -> Type:
        start = self._next
        alternatives = [self._path('a type')]
        is_array = self._brackets()
        while self._skip('or'):
            alternatives.append(self._path('a type'))
            is_array = self._brackets() or is_array
        traits = self._paths('a trait') if self._skip('with') else ()
        is_reference = self._skip('reference')
        return Type(start.line, start.column, tuple(alternatives), is_array, traits, is_reference)

    def _brackets(self) -> bool:
        if self._is('[') and self._is(']', 1):
            self._at += 2
            return True
        return False

    def _path(self, expected: str) -> Path:
        start = self._name(expected)
        names = [start.text]
        while self._skip('.'):
            names.append(self._name('a name').text)
            if len(names) > _MOST_NAMES:
                self._too_deep(f'{_MOST_NAMES} names with dots')
        return Path(start.line, start.column, tuple(names))

    def _paths(self, expected: str) -> tuple[Path, ...]:
        paths = [self._path(expected)]
        while self._skip(','):
            paths.append(self._path(expected))
        return tuple(paths)

    def _list(self, end: str, item: Callable[[], _Item]) -> tuple[_Item, ...]:
        """Return the items between commas, up to a bracket; a trailing comma is allowed."""
        items: list[_Item] = []
        while not self._skip(end):
            items.append(item())
            if not self._skip(','):
                self._expect(end)
                break
        return tuple(items)

    # -- expressions -------------------------------------------------------------------------

    def _expression(self) -> Expression:
        return self._chain(('+', '-'), lambda: self._chain(('*', '/'), self._signed))

    def _chain(self, signs: tuple[str, ...], operand: Callable[[], Expression]) -> Expression:
        first = operand()
        rest: list[tuple[str, Expression]] = []
        start = self._next
        while self._next.text in signs and self._comes(Kind.SIGN):
            rest.append((self._take().text, operand()))
            if len(rest) > _MOST_TERMS:
                raise _SyntaxError(
                    start,
                    f'more than {_MOST_TERMS} operands of an expression are not read',
                    'too-large',
                )
        if not rest:
            return first
        return Operation(start.line, start.column, first, tuple(rest))

    def _signed(self) -> Expression:
        token = self._next
        if self._comes(Kind.SIGN) and token.text == '-':
            self._take()
            self._deeper()
            operand = self._signed()
            self._levels -= 1
            return Negation(token.line, token.column, operand)
        return self._postfix()

    def _postfix(self) -> Expression:
        value = self._primary()
        levels = self._levels
        while self._comes(Kind.SIGN):
            token = self._next
            if token.text == '.':
                self._take()
                name = self._name('a member').text
                if isinstance(value, Path):
                    if len(value.names) == _MOST_NAMES:
                        self._too_deep(f'{_MOST_NAMES} names with dots')
                    value = Path(value.line, value.column, (*value.names, name))
                    continue
                value = Member(token.line, token.column, value, name)
            elif token.text == '(':
                value = self._call(value)
            elif token.text == '[':
                self._open.append(self._take())
                self._deeper()
                index = self._expression()
                self._expect(']')
                self._open.pop()
                value = Index(token.line, token.column, value, index)
            else:
                break
            self._deeper()
        self._levels = levels
        return value

    def _call(self, called: Expression) -> Expression:
        token = self._next
        target: Expression | None = None
        if isinstance(called, Path):
            *holder, name = called.names
            if holder:
                target = Path(called.line, called.column, tuple(holder))
        elif isinstance(called, Member):
            target, name = called.target, called.name
        else:
            raise _SyntaxError(token, 'only functions can be called')
        self._open.append(self._take())
        self._deeper()
        arguments = self._list(')', self._expression)
        self._levels -= 1
        self._open.pop()
        return Call(called.line, called.column, target, name, arguments)

    def _primary(self) -> Expression:
        token = self._next
        line, column = token.line, token.column
        if token.kind is Kind.NUMBER:
            self._take()
            return Literal(line, column, _number(token.text))
        if token.kind in (Kind.TEXT, Kind.PATH):
            self._take()
            return Literal(line, column, token.text, token.kind is Kind.PATH)
        if token.kind is Kind.NAME:
            self._take()
            if token.text in ('true', 'false'):
                return Literal(line, column, token.text == 'true')
            return Path(line, column, (token.text,))
        if token.kind is Kind.SIGN and token.text in '([{':
            self._open.append(self._take())
            self._deeper()
            value: Expression
            if token.text == '(':
                value = self._expression()
                self._expect(')')
            elif token.text == '[':
                value = Array(line, column, self._list(']', self._expression))
            else:
                value = Array(line, column, self._list('}', self._expression), is_object=True)
            self._levels -= 1
            self._open.pop()
            return value
        self._fail('expected a value')


_UNSEEN = (Kind.LINE, Kind.INDENT, Kind.DEDENT, Kind.END)


def _number(text: str) -> float | int:
    """Return a number; without point and exponent it is an integer, if it has 64 bits."""
    if text.isdecimal() and len(text) < 19:
        return int(text)
    return float(text)
