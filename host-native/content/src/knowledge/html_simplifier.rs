//! Writes a web page anew with what its text needs: elements, text, and hardly any attribute.
//!
//! The parser that builds the tree compares each attribute of a tag with all before it, and reopens elements of emphasis that differ in an
//! attribute again and again. The tokenizer here takes time in proportion to the page.

use std::collections::BTreeMap;
use std::convert::Infallible;

use html5gum::{DefaultEmitter, Readable, Reader, StartTag, StringReader, Token, Tokenizer};

/// More open elements would take the parser, whose time grows with their square, too long.
const MAX_OPEN: usize = 1_000;

/// Elements without an end tag, or whose end tag may be omitted.
const OPEN_ENDED: [&str; 31] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr", "p", "li", "dt", "dd", "option",
    "optgroup", "tr", "td", "th", "thead", "tbody", "tfoot", "colgroup", "rt", "rp", "html", "head", "body",
];

/// Elements whose content is not text of the page, up to their end tag.
const DROPPED: [&str; 6] = ["script", "style", "noscript", "iframe", "noembed", "noframes"];

/// Why a page is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Start tags without end tags pile up.
    TooManyOpenElements,
}

/// Writes a page anew.
///
/// # Errors
/// The reason why it cannot be parsed in reasonable time.
pub fn simplify(html: &str) -> Result<String, Refusal> {
    let mut emitter = DefaultEmitter::<()>::default();
    emitter.naively_switch_states(true);
    let mut page = SimplePage { text: String::with_capacity(html.len()), ..SimplePage::default() };
    for Ok(token) in Tokenizer::new_with_emitter(FlatReader(html.to_reader()), emitter) {
        page.add(token);
        if page.open.count > MAX_OPEN {
            return Err(Refusal::TooManyOpenElements);
        }
    }
    Ok(page.text)
}

/// Reads a page without the white space behind quoted values, which separates nothing that the quotation mark does not: at each, the tokenizer
/// would call itself once more, and end with its stack.
#[derive(Debug)]
struct FlatReader<'p>(StringReader<'p>);

impl Reader for FlatReader<'_> {
    type Error = Infallible;

    fn read_byte(&mut self) -> Result<Option<u8>, Infallible> {
        self.0.read_byte()
    }

    fn try_read_string(&mut self, text: &[u8], case_sensitive: bool) -> Result<bool, Infallible> {
        self.0.try_read_string(text, case_sensitive)
    }

    fn read_until<'b>(&'b mut self, needle: &[u8], buffer: &'b mut [u8; 4]) -> Result<Option<&'b [u8]>, Infallible> {
        if needle.contains(&b'"') && self.0.try_read_string(b"\"", true)? {
            while [b" ", b"\t", b"\n", b"\r", b"\x0c"].into_iter().any(|space| self.0.try_read_string(space, true) == Ok(true)) {}
            return Ok(Some(b"\""));
        }
        self.0.read_until(needle, buffer)
    }
}

/// The page as far as it is written.
#[derive(Debug, Default)]
struct SimplePage {
    text: String,
    open: OpenElements,
    /// The element whose content is dropped now.
    dropped: Option<String>,
}

impl SimplePage {
    fn add(&mut self, token: Token) {
        if let Some(dropped) = &self.dropped {
            if matches!(&token, Token::EndTag(tag) if tag.name.as_slice() == dropped.as_bytes()) {
                self.dropped = None;
            }
            return;
        }
        match token {
            Token::StartTag(tag) => self.start(&tag),
            Token::EndTag(tag) => {
                let name = written_name(&tag.name);
                self.open.end(&name);
                self.write(&["</", &name, ">"]);
            }
            Token::String(text) => escape(&String::from_utf8_lossy(&text), &mut self.text),
            Token::Doctype(_) => self.write(&["<!DOCTYPE html>"]),
            Token::Comment(_) | Token::Error(_) => {}
        }
    }

    fn start(&mut self, tag: &StartTag<()>) {
        let name = written_name(&tag.name);
        if DROPPED.contains(&name.as_str()) {
            self.dropped = Some(name);
            return;
        }
        self.open.start(&name);
        self.write(&["<", &name]);
        if let Some((attribute, value)) = needed_attribute(&name, tag) {
            self.write(&[" ", attribute, "=\"", &value, "\""]);
        }
        self.write(&[if tag.self_closing { "/>" } else { ">" }]);
    }

    fn write(&mut self, parts: &[&str]) {
        parts.iter().for_each(|it| self.text.push_str(it));
    }
}

/// The elements that are open, as far as tags tell.
#[derive(Debug, Default)]
struct OpenElements {
    count: usize,
    by_name: BTreeMap<String, usize>,
}

impl OpenElements {
    fn start(&mut self, name: &str) {
        if !OPEN_ENDED.contains(&name) {
            self.count += 1;
            *self.by_name.entry(name.to_owned()).or_default() += 1;
        }
    }

    /// An end tag without a start tag closes nothing.
    fn end(&mut self, name: &str) {
        let Some(open) = self.by_name.get_mut(name) else { return };
        *open -= 1;
        self.count -= 1;
        if *open == 0 {
            self.by_name.remove(name);
        }
    }
}

/// The name of a tag; texts in which no tags are read become preformatted ones.
fn written_name(name: &[u8]) -> String {
    match String::from_utf8_lossy(name).into_owned() {
        name if name == "xmp" || name == "plaintext" => "pre".to_owned(),
        name => name,
    }
}

/// Returns the attribute of a tag that its Markdown depends on: the language of code, the first number of a list, or the kind of a formula.
fn needed_attribute(name: &str, tag: &StartTag<()>) -> Option<(&'static str, String)> {
    let value = |attribute: &str| tag.attributes.get(attribute.as_bytes()).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    match name {
        "code" | "pre" => {
            let classes = value("class")?;
            let language = classes.split_ascii_whitespace().find(|class| class.starts_with("language-") && class.chars().all(is_plain))?;
            Some(("class", language.to_owned()))
        }
        "ol" => Some(("start", value("start")?.trim().parse::<i32>().ok()?.to_string())),
        "span" => {
            let class = value("class")
                .filter(|class| tag.attributes.len() == 1 && (class == "math math-inline" || class == "math math-display"))?;
            Some(("class", class))
        }
        _ => None,
    }
}

fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-_+#.".contains(letter)
}

fn escape(text: &str, into: &mut String) {
    for letter in text.chars() {
        match letter {
            '&' => into.push_str("&amp;"),
            '<' => into.push_str("&lt;"),
            '>' => into.push_str("&gt;"),
            letter => into.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_and_elements_without_text_are_left_out() {
        for (page, simple) in [
            ("<!doctype html><p class=x onclick='a()'>A &lt;b&gt; &amp; c", "<!DOCTYPE html><p>A &lt;b&gt; &amp; c"),
            ("<script>if (a<b) '</p>'</script>x<style>p{}</style>y", "xy"),
            ("<!-- a <b> --><br/>x<![CDATA[y]]>", "<br/>x"),
            ("<pre class='a language-c++ b'><code class='x\"y'>z</code></pre>", "<pre class=\"language-c++\"><code>z</code></pre>"),
            ("<ol start=3 class=x><li value=9>a</ol><ol start='\"'>", "<ol start=\"3\"><li>a</ol><ol>"),
            (
                "<span class='math math-inline'>x</span><span class='math'>y</span>",
                "<span class=\"math math-inline\">x</span><span>y</span>",
            ),
            ("<xmp><b></xmp>", "<pre>&lt;b&gt;</pre>"),
            ("<textarea><b></textarea><title>a<b</title>", "<textarea>&lt;b&gt;</textarea><title>a&lt;b</title>"),
            ("<p title='>' x=\"<script>\">a", "<p>a"),
            ("<script>never ends", ""),
        ] {
            assert_eq!(simplify(page).as_deref(), Ok(simple), "{page}");
        }
    }

    #[test]
    fn any_number_of_attributes_is_read_on_a_small_stack() {
        for (open, close) in [("\"", "\" "), ("\"", "\" \r\n\t"), ("\"", "\""), ("\"", "\"/"), ("'", "' "), ("", " ")] {
            let attributes: String = (0..100_000).map(|it| format!("a{it}={open}v{close}")).collect();
            let page = format!("<ol {attributes}start={open}7{open}><li title=\"a\" >b</ol>");
            let read = std::thread::Builder::new().stack_size(512 * 1024).spawn(move || simplify(&page)).expect("a thread");
            assert_eq!(read.join().expect("no panic").as_deref(), Ok("<ol start=\"7\"><li>b</ol>"), "{open}{close}");
        }
        assert_eq!(simplify("<!DOCTYPE html PUBLIC \"a\" \"b\" ><p>x").as_deref(), Ok("<!DOCTYPE html><p>x"));
    }

    #[test]
    fn elements_that_pile_up_are_refused_whatever_end_tags_stand_between() {
        let refused = Err(Refusal::TooManyOpenElements);
        assert_eq!(simplify(&"<div>".repeat(1_001)), refused);
        assert_eq!(simplify(&"<code class=language-a></x></x>".repeat(1_001)), refused);
        assert!(simplify(&"<div></div><p><br>".repeat(10_000)).is_ok());
    }
}
