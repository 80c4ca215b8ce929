//! What a script prints: lines, cut to the limits.

use std::borrow::Cow;

use monty_types::{MontyException, PrintWriterCallback};

/// Collects printed lines up to a number of lines and of characters in each.
#[derive(Debug, Default)]
pub struct Log {
    lines: Vec<String>,
    max_lines: usize,
    max_chars: usize,
    /// Characters in the last line.
    chars: usize,
    /// Whether the last line ended, so that the next character begins another.
    ended: bool,
}

impl Log {
    /// Creates an empty log.
    pub fn new(max_lines: usize, max_chars: usize) -> Log {
        Log { max_lines, max_chars, ended: true, ..Log::default() }
    }

    /// Returns the lines.
    pub fn into_lines(self) -> Vec<String> {
        self.lines
    }

    fn is_full(&self) -> bool {
        self.ended && self.lines.len() >= self.max_lines
    }

    fn write(&mut self, text: &str) {
        for part in text.split_inclusive('\n') {
            if self.is_full() {
                return;
            }
            let (line, ends) = part.strip_suffix('\n').map_or((part, false), |it| (it, true));
            self.append(line);
            self.ended = ends;
        }
    }

    fn append(&mut self, text: &str) {
        if self.ended {
            self.lines.push(String::new());
            self.chars = 0;
        }
        let Some(line) = self.lines.last_mut() else { return };
        for char in text.chars().take(self.max_chars.saturating_sub(self.chars)) {
            line.push(char);
            self.chars += 1;
        }
    }
}

impl PrintWriterCallback for Log {
    fn stdout_write(&mut self, output: Cow<'_, str>) -> Result<(), MontyException> {
        self.write(&output);
        Ok(())
    }

    fn stdout_push(&mut self, end: char) -> Result<(), MontyException> {
        self.write(end.encode_utf8(&mut [0; 4]));
        Ok(())
    }
}
