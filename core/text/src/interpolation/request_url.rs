//! Renders the URL of a request: no value can change its host, its path beyond a segment, or the structure of its query.

use super::output::TextWithSecrets;
use super::piece::{Piece, Placeholder};
use super::render::secret_marker;
use super::template::Interpolation;
use crate::names::NameResolver;
use crate::url::{is_unsafe_segment, percent_encode};
use crate::value::EXPRESSION;

/// A rendered URL, without its fragment.
#[derive(Debug, Default)]
pub struct RenderedUrl {
    /// The URL.
    pub url: TextWithSecrets,
    /// The paths that are not defined before the query.
    pub undefined_in_path: Vec<String>,
    /// The paths that are not defined in the query.
    pub undefined_in_query: Vec<String>,
}

/// The part of a URL that is being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Before the path: a scheme or nothing.
    Scheme,
    /// The host and the port.
    Authority,
    Path,
    Query,
    /// It is not sent.
    Fragment,
}

struct Writer {
    rendered: RenderedUrl,
    part: Part,
    /// Where the current segment of the path begins.
    segment: usize,
    /// Whether a value is in the current segment.
    has_value: bool,
}

impl Interpolation {
    /// Renders the URL of a request. A value is percent-encoded as one segment of the path or one value of the query. A placeholder that
    /// is the whole template, or has the filter `raw` at its beginning, is a URL of its own; `raw` elsewhere in the path makes it text of the path.
    ///
    /// # Errors
    /// What is wrong with a value in its place.
    pub fn render_request_url(&self, names: &dyn NameResolver) -> Result<RenderedUrl, String> {
        let mut writer = Writer { rendered: RenderedUrl::default(), part: Part::Scheme, segment: 0, has_value: false };
        for (at, piece) in self.pieces().iter().enumerate() {
            match piece {
                Piece::Text(text) => writer.push_text(text)?,
                Piece::Secret(name) => writer.push_secret(name),
                Piece::Placeholder(placeholder) => {
                    let is_base = at == 0 && (placeholder.is_verbatim() || self.pieces().len() == 1);
                    writer.push_value(placeholder, is_base, names)?;
                }
            }
        }
        writer.close_segment()?;
        Ok(writer.rendered)
    }
}

impl Writer {
    /// Writes a text of the author.
    fn push_text(&mut self, text: &str) -> Result<(), String> {
        let mut rest = text;
        while let Some(character) = rest.chars().next().filter(|_| self.part != Part::Fragment) {
            let written = if self.part == Part::Scheme && rest.starts_with("//") {
                "//"
            } else {
                rest.get(..character.len_utf8()).unwrap_or_default()
            };
            rest = rest.get(written.len()..).unwrap_or_default();
            match (self.part, written) {
                (Part::Query, _) if character != '#' => {}
                (_, "#") => {
                    self.close_segment()?;
                    self.part = Part::Fragment;
                    return Ok(());
                }
                (_, "?") => {
                    self.close_segment()?;
                    self.part = Part::Query;
                }
                (Part::Scheme, "//") => self.part = Part::Authority,
                // Parsers of URLs accept one slash behind the scheme.
                (Part::Scheme, "/") if self.rendered.url.text.contains(':') => self.part = Part::Authority,
                (_, "/") => {
                    self.close_segment()?;
                    self.open_segment(written.len());
                }
                _ => {}
            }
            self.rendered.url.text.push_str(written);
        }
        Ok(())
    }

    fn push_secret(&mut self, name: &str) {
        if self.part != Part::Fragment {
            let url = &mut self.rendered.url;
            url.secrets.push((url.text.len(), name.to_owned()));
            url.text.push_str(&secret_marker(name));
        }
    }

    fn push_value(&mut self, placeholder: &Placeholder, is_base: bool, names: &dyn NameResolver) -> Result<(), String> {
        let mut undefined = Vec::new();
        let value = placeholder.resolve(names, &mut undefined).map(|value| EXPRESSION.print(&value).into_owned()).unwrap_or_default();
        let list = if self.part == Part::Query { &mut self.rendered.undefined_in_query } else { &mut self.rendered.undefined_in_path };
        list.extend(undefined);
        if !self.rendered.undefined_in_path.is_empty() {
            return Ok(());
        }
        let text = if is_base || placeholder.is_verbatim() { value } else { percent_encode(&value) };
        let path = &placeholder.path;
        // A parser of URLs removes line breaks and tabs, after which other segments stand there.
        if text.contains(|it: char| it.is_ascii_control()) {
            return Err(format!("'{path}' has control characters, which must not be in a URL"));
        }
        match self.part {
            Part::Fragment => return Ok(()),
            Part::Authority => return Err(format!("'{path}' must not be in the host of the URL")),
            Part::Scheme if is_base => return self.push_base(&text, placeholder),
            // Without slashes, a parser of URLs takes what follows the scheme for the host.
            Part::Scheme if self.rendered.url.text.contains(':') => return Err(format!("'{path}' must not be in the host of the URL")),
            Part::Scheme => self.open_segment(0),
            Part::Path => {}
            Part::Query => {
                self.rendered.url.text.push_str(&text);
                return Ok(());
            }
        }
        if text.contains(['?', '#', '\\']) {
            return Err(format!("'{path}' must not end the path of the URL"));
        }
        self.has_value = true;
        for (at, part) in text.split('/').enumerate() {
            if at > 0 {
                self.close_segment()?;
                self.rendered.url.text.push('/');
                self.open_segment(0);
                self.has_value = true;
            }
            self.rendered.url.text.push_str(part);
        }
        Ok(())
    }

    /// Writes a value that is a URL or its beginning.
    fn push_base(&mut self, text: &str, placeholder: &Placeholder) -> Result<(), String> {
        let after = |start: &&str| {
            let (scheme, rest) = text.split_at_checked(start.len())?;
            scheme.eq_ignore_ascii_case(start).then_some(rest)
        };
        let rest = ["https://", "http://"].iter().find_map(after);
        let Some(rest) = rest.filter(|it| !it.is_empty()) else {
            return Err(format!("'{}' is not an http or https URL", placeholder.path));
        };
        self.rendered.url.text.push_str(text);
        self.part = match rest {
            _ if rest.contains('#') => Part::Fragment,
            _ if rest.contains('?') => Part::Query,
            _ if rest.contains(['/', '\\']) => Part::Path,
            // What follows has to end the host.
            _ => Part::Authority,
        };
        self.segment = self.rendered.url.text.rfind('/').map_or(0, |it| it + 1);
        Ok(())
    }

    fn open_segment(&mut self, ahead: usize) {
        self.part = Part::Path;
        (self.segment, self.has_value) = (self.rendered.url.text.len() + ahead, false);
    }

    fn close_segment(&mut self) -> Result<(), String> {
        let segment = self.rendered.url.text.get(self.segment..).unwrap_or_default();
        if self.part == Part::Path && self.has_value && self.rendered.undefined_in_path.is_empty() && is_unsafe_segment(segment) {
            return Err(format!("a value makes the segment '{segment}' of the URL, which leads elsewhere"));
        }
        self.has_value = false;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::names::FixedNames;

    fn rendered(source: &str, value: &str) -> Result<String, String> {
        let session = json!({"v": value, "base": "https://a.example/api", "host": "https://a.example", "search": "https://a.example/?b=1"});
        let names = FixedNames::new(json!({"session": session}));
        let rendered = Interpolation::parse(source).unwrap().render_request_url(&names)?;
        assert_eq!((rendered.undefined_in_path, rendered.undefined_in_query), (Vec::<String>::new(), Vec::<String>::new()), "{source}");
        Ok(rendered.url.text)
    }

    #[test]
    fn a_value_is_one_segment_or_one_query_value() {
        for (source, value, expected) in [
            ("https://x.org/a/{{ v }}", "b c/../d?e#f", "https://x.org/a/b%20c%2F..%2Fd%3Fe%23f"),
            ("https://x.org/a/{{ v }}/z", "...", "https://x.org/a/.../z"),
            ("https://x.org/a/-{{ v }}", "", "https://x.org/a/-"),
            ("https://x.org/?q={{ v }}&r=1#{{ v }}", "..&r=2", "https://x.org/?q=..%26r%3D2&r=1"),
            ("https://x.org//a?q={{ v }}", "", "https://x.org//a?q="),
            ("https://x.org/a/{{ v | raw }}/z", "b/c%20d", "https://x.org/a/b/c%20d/z"),
            ("https://x.org/a/{{ v | urlencode }}", "b c", "https://x.org/a/b%20c"),
            ("{{ v | raw }}", "https://y.org/../a?b#c", "https://y.org/../a?b#c"),
            ("{{ v }}", "https://y.org/a?b", "https://y.org/a?b"),
            ("{{ base | raw }}/{{ v }}", "b", "https://a.example/api/b"),
            ("{{ host | raw }}/{{ v }}?q={{ v }}", "b", "https://a.example/b?q=b"),
            ("{{ search | raw }}&city={{ v }}", "a&b", "https://a.example/?b=1&city=a%26b"),
            ("x/{{ v }}", "b", "x/b"),
        ] {
            assert_eq!(rendered(source, value).as_deref(), Ok(expected), "{source} {value}");
        }
    }

    #[test]
    fn a_value_that_leads_elsewhere_is_refused() {
        let path = "https://x.org/a/{{ v }}";
        for (source, value) in [
            (path, ".."),
            (path, "."),
            (path, ""),
            (path, " "),
            (path, " .. "),
            ("https://x.org/a/{{ v }}/b", ".."),
            ("https://x.org/a/{{ v }}?q=1", ".."),
            ("https://x.org/a/{{ v }}#b", ".."),
            ("https://x.org/a/.{{ v }}", "."),
            ("https://x.org/a/{{ v }}{{ v }}", "."),
            ("https://x.org/{{ v | urlencode }}", ".."),
            ("https://x.org/{{ v | raw }}", "%2e%2E"),
            ("https://x.org/{{ v | raw }}", "b/../c"),
            ("https://x.org/{{ v | raw }}", "b//c"),
            ("https://x.org/{{ v | raw }}", "b?c"),
            ("https://x.org/{{ v | raw }}", "..\\c"),
            ("https://x.org/a/{{ v | raw }}", ".\t./b"),
            ("https://x.org/a/{{ v | raw }}", "b\n/.\r./c"),
            ("{{ v | raw }}/a", "https://x.org/.\t./b"),
            ("https:{{ v }}/a", "y.org"),
            ("http:/{{ v }}/a", "y.org"),
            ("https://{{ v }}/a", "y.org"),
            ("https://x.org:{{ v }}/a", "22"),
            ("https://{{ v | raw }}", "y.org"),
            ("//{{ v }}/a", "y.org"),
            ("{{ host | raw }}{{ v }}/a", "y.org"),
            ("{{ v | raw }}/a", "ftp://y.org"),
            ("{{ v | raw }}/a", "y.org"),
            ("{{ v }}", "/etc/passwd"),
            ("{{ v | raw }}/a", "https://"),
        ] {
            assert!(rendered(source, value).is_err(), "{source} {value}: {:?}", rendered(source, value));
        }
    }

    #[test]
    fn undefined_names_and_secrets_are_listed() {
        let source = "https://x.org/{{ secret.KEY }}/{{ none }}?q={{ nobody }}";
        let rendered = Interpolation::parse(source).unwrap().render_request_url(&FixedNames::new(json!({}))).unwrap();
        assert_eq!((rendered.undefined_in_path, rendered.undefined_in_query), (vec!["none".to_owned()], vec!["nobody".to_owned()]));
        assert_eq!(rendered.url.secrets, [(14, "KEY".to_owned())]);
    }
}
