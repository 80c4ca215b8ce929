//! Rendered templates, and the places where they are inserted.

/// A rendered template.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Interpolated<T> {
    /// The output.
    pub output: T,
    /// The paths that are not defined.
    pub undefined: Vec<String>,
}

/// Where the output is inserted, which decides how values are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputContext {
    /// The path or query of a request URL: values are percent-encoded.
    Url,
    /// A URL that is displayed: as in requests, except for a placeholder at its start, which contains the URL itself.
    Link,
    /// A value in the query of a URL: everything but secret markers is percent-encoded.
    Query,
    /// The body of a form: everything but secret markers is percent-encoded, with a plus for a space.
    Form,
    /// A header: line breaks in values become spaces.
    Header,
    /// Plain text: nothing is encoded.
    Text,
}

/// A text with markers where the host inserts secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextWithSecrets {
    /// The text, with `[secret:NAME]` in place of each secret.
    pub text: String,
    /// The byte offset of each marker and the name of its secret.
    pub secrets: Vec<(usize, String)>,
}
