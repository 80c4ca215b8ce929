//! A tokenizer for Python scripts. It is not a parser: it only reports errors that are certain without one.

/// A token of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'s> {
    Name(&'s str),
    /// A string literal, with its content if it has no prefix and no escapes.
    Text(Option<&'s str>),
    Number,
    /// An operator character, or one of the two-character operators in [`PAIRS`].
    Mark(&'s str),
    /// The end of a logical line.
    Line,
}

/// Operators of two characters, which distinguish assignments from comparisons.
const PAIRS: [&str; 14] = ["==", "!=", "<=", ">=", ":=", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "->"];

/// Splits a script into tokens with their line numbers, without comments.
///
/// # Errors
/// The line and the message of a syntax error.
pub(super) fn tokens(script: &str) -> Result<Vec<(usize, Token<'_>)>, (usize, String)> {
    let mut scan = Scan { rest: script, line: 1, found: Vec::new(), open: Vec::new(), indent: "" };
    scan.indentation()?;
    while let Some(first) = scan.rest.chars().next() {
        match first {
            '\n' => scan.end_of_line()?,
            '#' => scan.take(scan.rest.find('\n').unwrap_or(scan.rest.len())),
            '\\' if scan.rest.trim_start_matches('\\').trim_start_matches('\r').starts_with('\n') => {
                scan.take(scan.rest.find('\n').unwrap_or(0) + 1);
                scan.line += 1;
            }
            it if it.is_whitespace() => scan.take(it.len_utf8()),
            '"' | '\'' => scan.text(0)?,
            it if it.is_ascii_digit() => scan.number(),
            it if it == '_' || it.is_alphabetic() => scan.name()?,
            _ => scan.mark(first)?,
        }
    }
    scan.found.push((scan.line, Token::Line));
    match scan.open.last() {
        Some((line, bracket)) => Err((*line, format!("unclosed '{bracket}'"))),
        None => Ok(scan.found),
    }
}

struct Scan<'s> {
    rest: &'s str,
    line: usize,
    found: Vec<(usize, Token<'s>)>,
    open: Vec<(usize, char)>,
    indent: &'s str,
}

impl<'s> Scan<'s> {
    fn take(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    fn push(&mut self, bytes: usize, token: Token<'s>) {
        self.found.push((self.line, token));
        self.take(bytes);
    }

    fn end_of_line(&mut self) -> Result<(), (usize, String)> {
        self.take(1);
        // Within brackets, a logical line continues.
        if self.open.is_empty() {
            self.found.push((self.line, Token::Line));
        }
        self.line += 1;
        self.indentation()
    }

    /// Checks that the indentation of a line is a prefix of that of the previous line, or the other way round.
    fn indentation(&mut self) -> Result<(), (usize, String)> {
        let length = self.rest.len() - self.rest.trim_start_matches([' ', '\t']).len();
        let (indent, rest) = self.rest.split_at(length);
        let is_blank = rest.is_empty() || rest.starts_with(['\n', '\r', '#']);
        if self.open.is_empty() && !is_blank {
            if !indent.starts_with(self.indent) && !self.indent.starts_with(indent) {
                return Err((self.line, "inconsistent use of tabs and spaces in the indentation".to_owned()));
            }
            self.indent = indent;
        }
        self.rest = rest;
        Ok(())
    }

    fn name(&mut self) -> Result<(), (usize, String)> {
        let end = self.rest.find(|it: char| it != '_' && !it.is_alphanumeric()).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        let is_prefix = name.len() <= 2 && name.chars().all(|it| "rRbBuUfF".contains(it));
        if is_prefix && rest.starts_with(['"', '\'']) {
            return self.text(end);
        }
        self.push(end, Token::Name(name));
        Ok(())
    }

    fn number(&mut self) {
        let end = self.rest.find(|it: char| !(it == '_' || it == '.' || it.is_alphanumeric())).unwrap_or(self.rest.len());
        self.push(end, Token::Number);
    }

    /// Reads a string literal with a prefix of `prefix` bytes.
    fn text(&mut self, prefix: usize) -> Result<(), (usize, String)> {
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
                Some(it) => at += it.len_utf8(),
            }
        }
        let text = inner.get(..at).unwrap_or_default();
        let is_plain = prefix == 0 && !text.contains('\\');
        let length = prefix + at + 2 * close.len();
        let lines = text.matches('\n').count();
        self.push(length, Token::Text(is_plain.then_some(text)));
        self.line += lines;
        Ok(())
    }

    fn mark(&mut self, first: char) -> Result<(), (usize, String)> {
        match first {
            '(' | '[' | '{' => self.open.push((self.line, first)),
            ')' | ']' | '}' => {
                let opened = self.open.pop().map(|it| it.1);
                let is_pair = matches!((opened, first), (Some('('), ')') | (Some('['), ']') | (Some('{'), '}'));
                if !is_pair {
                    return Err((self.line, format!("unmatched '{first}'")));
                }
            }
            _ => {}
        }
        let pair = self.rest.get(..2).filter(|it| PAIRS.contains(it));
        let mark = pair.or_else(|| self.rest.get(..first.len_utf8())).unwrap_or_default();
        self.push(mark.len(), Token::Mark(mark));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_cut_into_tokens() {
        let found: Vec<Token<'_>> =
            tokens("x['a'] = f\"{y}\" # z = 'q\nif x == 1:\n    y()\n").unwrap().into_iter().map(|it| it.1).collect();
        let (name, mark) = (Token::Name, Token::Mark);
        assert_eq!(
            found,
            [
                name("x"),
                mark("["),
                Token::Text(Some("a")),
                mark("]"),
                mark("="),
                Token::Text(None),
                Token::Line,
                name("if"),
                name("x"),
                mark("=="),
                Token::Number,
                mark(":"),
                Token::Line,
                name("y"),
                mark("("),
                mark(")"),
                Token::Line,
                Token::Line,
            ]
        );
        assert_eq!(tokens("a = '''one\n\"two\n''' + 'it\\'s'\nb").unwrap().last(), Some(&(4, Token::Line)));
    }

    #[test]
    fn what_is_certainly_wrong_is_told() {
        for (script, line) in [
            ("a = 'x\nb", 1),
            ("a = \"\"\"x", 1),
            ("\na = (1,\n", 2),
            ("a = 1)", 1),
            ("a = (1]", 1),
            ("if x:\n\ta\n    b", 3),
            ("a = '\\", 1),
        ] {
            assert_eq!(tokens(script).map_err(|it| it.0).err(), Some(line), "{script}");
        }
        for script in
            ["", "a = (1,\n  2)", "if x:\n    a\n# x\n\n    b\nc", "a = 1 + \\\n  2", "x = {'a': [1]}  ", "if x:\r\n  a\r\n  b\r\n"]
        {
            assert!(tokens(script).is_ok(), "{script}");
        }
    }
}
