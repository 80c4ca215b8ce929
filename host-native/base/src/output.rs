//! Prints what commands say. A reader that has closed its end, as `head` does, fails no command: it does its work to the end and its exit code
//! says how that went.

use std::fmt::Arguments;
use std::io::{self, Write};

/// Prints a line to standard output, as `println!` does; a closed pipe is no error.
#[macro_export]
macro_rules! print_line {
    ($($text:tt)*) => { $crate::output::write_line(std::io::stdout(), format_args!($($text)*)) };
}

/// Prints a line to standard error, as `eprintln!` does; a closed pipe is no error.
#[macro_export]
macro_rules! print_error_line {
    ($($text:tt)*) => { $crate::output::write_line(std::io::stderr(), format_args!($($text)*)) };
}

/// Prints a text to standard output, as it is.
pub fn print_text(text: Arguments<'_>) {
    let _ = io::stdout().write_fmt(text);
}

/// Writes a line if its reader is still there.
pub fn write_line(mut output: impl Write, line: Arguments<'_>) {
    let _ = writeln!(output, "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    struct ClosedPipe;

    impl Write for ClosedPipe {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_is_written_unless_nobody_reads_it() {
        let mut written = Vec::new();
        write_line(&mut written, format_args!("{} {}", "a", 1));
        assert_eq!(written, b"a 1\n");
        write_line(ClosedPipe, format_args!("b"));
    }
}
