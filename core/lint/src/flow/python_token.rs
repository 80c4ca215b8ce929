//! A tokenizer for Python scripts. It is not a parser: it only reports errors that are certain without one.

/// A token of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'s> {
    Name(&'s str),
    /// A string literal, with its content if it has no prefix and no escapes.
    Str(Option<&'s str>),
    Number,
    /// An operator character, or one of the two-character operators in [`TWO_CHAR_OPERATORS`].
    Operator(&'s str),
    /// The end of a logical line.
    LineEnd,
}

/// Operators of two characters, which distinguish assignments from comparisons.
const TWO_CHAR_OPERATORS: [&str; 14] = ["==", "!=", "<=", ">=", ":=", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "->"];

/// Splits a script into tokens with their line numbers, without comments.
///
/// # Errors
/// The line and the message of a syntax error.
pub(super) fn tokenize(script: &str) -> Result<Vec<(usize, Token<'_>)>, (usize, String)> {
    let mut scan = PythonScanner { rest: script, line: 1, tokens: Vec::new(), brackets: Vec::new(), indent: "" };
    scan.scan_indentation()?;
    while let Some(first) = scan.rest.chars().next() {
        match first {
            '\n' => scan.scan_line_end()?,
            '#' => scan.skip(scan.rest.find('\n').unwrap_or(scan.rest.len())),
            '\\' if scan.rest.trim_start_matches('\\').trim_start_matches('\r').starts_with('\n') => {
                scan.skip(scan.rest.find('\n').unwrap_or(0) + 1);
                scan.line += 1;
            }
            space if space.is_whitespace() => scan.skip(space.len_utf8()),
            '"' | '\'' => scan.scan_string(0)?,
            digit if digit.is_ascii_digit() => scan.scan_number(),
            letter if letter == '_' || letter.is_alphabetic() => scan.scan_name()?,
            _ => scan.scan_operator(first)?,
        }
    }
    scan.tokens.push((scan.line, Token::LineEnd));
    match scan.brackets.last() {
        Some((line, bracket)) => Err((*line, format!("unclosed '{bracket}'"))),
        None => Ok(scan.tokens),
    }
}

struct PythonScanner<'s> {
    rest: &'s str,
    line: usize,
    tokens: Vec<(usize, Token<'s>)>,
    brackets: Vec<(usize, char)>,
    indent: &'s str,
}

impl<'s> PythonScanner<'s> {
    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    fn push(&mut self, bytes: usize, token: Token<'s>) {
        self.tokens.push((self.line, token));
        self.skip(bytes);
    }

    fn scan_line_end(&mut self) -> Result<(), (usize, String)> {
        self.skip(1);
        // Within brackets, a logical line continues.
        if self.brackets.is_empty() {
            self.tokens.push((self.line, Token::LineEnd));
        }
        self.line += 1;
        self.scan_indentation()
    }

    /// Checks that the indentation of a line is a prefix of that of the previous line, or the other way round.
    fn scan_indentation(&mut self) -> Result<(), (usize, String)> {
        let length = self.rest.len() - self.rest.trim_start_matches([' ', '\t']).len();
        let (indent, rest) = self.rest.split_at(length);
        let is_blank = rest.is_empty() || rest.starts_with(['\n', '\r', '#']);
        if self.brackets.is_empty() && !is_blank {
            if !indent.starts_with(self.indent) && !self.indent.starts_with(indent) {
                return Err((self.line, "inconsistent use of tabs and spaces in the indentation".to_owned()));
            }
            self.indent = indent;
        }
        self.rest = rest;
        Ok(())
    }

    fn scan_name(&mut self) -> Result<(), (usize, String)> {
        let end = self.rest.find(|character: char| character != '_' && !character.is_alphanumeric()).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        let is_prefix = name.len() <= 2 && name.chars().all(|it| "rRbBuUfF".contains(it));
        if is_prefix && rest.starts_with(['"', '\'']) {
            return self.scan_string(end);
        }
        self.push(end, Token::Name(name));
        Ok(())
    }

    fn scan_number(&mut self) {
        let end = self
            .rest
            .find(|character: char| !(character == '_' || character == '.' || character.is_alphanumeric()))
            .unwrap_or(self.rest.len());
        self.push(end, Token::Number);
    }

    /// Reads a string literal with a prefix of `prefix` bytes.
    fn scan_string(&mut self, prefix: usize) -> Result<(), (usize, String)> {
        let body = self.rest.get(prefix..).unwrap_or_default();
        let quote = body.get(..1).unwrap_or_default();
        let triple = quote.repeat(3);
        let is_long = body.starts_with(&triple);
        let close = if is_long { triple.as_str() } else { quote };
        let inner = body.get(close.len()..).unwrap_or_default();
        let unterminated = || (self.line, format!("unterminated string that begins with {close}"));
        let mut at = 0;
        loop {
            let rest = inner.get(at..).unwrap_or_default();
            if rest.starts_with(close) {
                break;
            }
            match rest.chars().next() {
                None => return Err(unterminated()),
                Some('\n') if !is_long => return Err(unterminated()),
                Some('\\') => at += 1 + rest.chars().nth(1).map_or(0, char::len_utf8),
                Some(character) => at += character.len_utf8(),
            }
        }
        let text = inner.get(..at).unwrap_or_default();
        let is_plain = prefix == 0 && !text.contains('\\');
        let length = prefix + at + 2 * close.len();
        let lines = text.matches('\n').count();
        self.push(length, Token::Str(is_plain.then_some(text)));
        self.line += lines;
        Ok(())
    }

    fn scan_operator(&mut self, first: char) -> Result<(), (usize, String)> {
        match first {
            '(' | '[' | '{' => self.brackets.push((self.line, first)),
            ')' | ']' | '}' => {
                let opened = self.brackets.pop().map(|it| it.1);
                let is_pair = matches!((opened, first), (Some('('), ')') | (Some('['), ']') | (Some('{'), '}'));
                if !is_pair {
                    return Err((self.line, format!("unmatched '{first}'")));
                }
            }
            _ => {}
        }
        let pair = self.rest.get(..2).filter(|it| TWO_CHAR_OPERATORS.contains(it));
        let mark = pair.or_else(|| self.rest.get(..first.len_utf8())).unwrap_or_default();
        self.push(mark.len(), Token::Operator(mark));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_tokenized() {
        let found: Vec<Token<'_>> =
            tokenize("x['a'] = f\"{y}\" # z = 'q\nif x == 1:\n    y()\n").unwrap().into_iter().map(|it| it.1).collect();
        let (name, mark) = (Token::Name, Token::Operator);
        assert_eq!(
            found,
            [
                name("x"),
                mark("["),
                Token::Str(Some("a")),
                mark("]"),
                mark("="),
                Token::Str(None),
                Token::LineEnd,
                name("if"),
                name("x"),
                mark("=="),
                Token::Number,
                mark(":"),
                Token::LineEnd,
                name("y"),
                mark("("),
                mark(")"),
                Token::LineEnd,
                Token::LineEnd,
            ]
        );
        assert_eq!(tokenize("a = '''one\n\"two\n''' + 'it\\'s'\nb").unwrap().last(), Some(&(4, Token::LineEnd)));
    }

    #[test]
    fn certain_syntax_errors_are_reported() {
        for (script, line) in [
            ("a = 'x\nb", 1),
            ("a = \"\"\"x", 1),
            ("\na = (1,\n", 2),
            ("a = 1)", 1),
            ("a = (1]", 1),
            ("if x:\n\ta\n    b", 3),
            ("a = '\\", 1),
        ] {
            assert_eq!(tokenize(script).map_err(|it| it.0).err(), Some(line), "{script}");
        }
        for script in
            ["", "a = (1,\n  2)", "if x:\n    a\n# x\n\n    b\nc", "a = 1 + \\\n  2", "x = {'a': [1]}  ", "if x:\r\n  a\r\n  b\r\n"]
        {
            assert!(tokenize(script).is_ok(), "{script}");
        }
    }
}
