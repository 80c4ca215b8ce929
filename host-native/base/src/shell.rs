//! Words of a shell, for commands that are printed to be copied.

use std::borrow::Cow;

/// Writes an argument as a word of a shell, in quotes if it needs them.
pub fn quote(argument: &str) -> String {
    // Only NUL cannot be quoted, and no argument can have it.
    shlex::try_quote(argument).map_or_else(|_| argument.to_owned(), Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_words_of_a_shell() {
        for (argument, word) in [
            ("a/b-c_1.d", "a/b-c_1.d"),
            ("", "''"),
            ("Zahnärzte", "'Zahnärzte'"),
            ("Rue de l'Eglise", r#""Rue de l'Eglise""#),
            (r#"["a b"]"#, r#"'["a b"]'"#),
            ("it's $5", r#""it's "'$5'"#),
            ("\0", "\0"),
        ] {
            assert_eq!(quote(argument), word, "{argument}");
        }
    }
}
