//! Templates: literal text with paths in `{{path}}`, `[(${path})]` (raw) and `[[${path}]]` (HTML-escaped), and in the short forms
//! `#{path}` and `[${path}]` (raw).
//!
//! A path names variables and members of JSON values, nothing else: there is no way to code, files or types.
//! Inserted values are never scanned again. (`spec/data-and-api.md` 4)

use serde_json::Value;

use crate::text::plain_text;

/// A compiled template; the default one is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Template {
    source: String,
    pieces: Vec<Piece>,
}

/// A filled template.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rendered {
    /// The text.
    pub text: String,
    /// Why an expression printed as nothing, the first of several.
    pub error: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Path { path: Vec<Part>, escape: bool },
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Name(String),
    Index(usize),
}

struct Form {
    open: &'static str,
    close: &'static str,
    escape: bool,
}

const FORMS: [Form; 5] = [
    Form { open: "{{", close: "}}", escape: false },
    Form { open: "[(${", close: "})]", escape: false },
    Form { open: "[[${", close: "}]]", escape: true },
    Form { open: "[${", close: "}]", escape: false },
    Form { open: "#{", close: "}", escape: false },
];

/// Openers of constructs that a template must not contain, because they would be shown to the user as they stand.
const UNKNOWN: [(&str, &str); 4] =
    [("[# ", "a block tag"), ("[#th:", "a block tag"), ("[/]", "the end of a block tag"), ("[(", "an expression without ${…}")];

impl Template {
    /// Compiles a template.
    ///
    /// # Errors
    /// What is wrong and at which character.
    pub fn compile(source: &str) -> Result<Template, String> {
        let mut pieces = Vec::new();
        let mut rest = source;
        while let Some((at, form)) = next_form(rest) {
            let (text, tail) = rest.split_at(at);
            known(text)?;
            push_text(&mut pieces, text);
            let position = source.len() - tail.len();
            let tail = tail.strip_prefix(form.open).unwrap_or_default();
            let Some((inner, after)) = tail.split_once(form.close) else {
                return Err(format!("'{}' at character {} is not closed by '{}'", form.open, characters(source, position), form.close));
            };
            let path = parse_path(inner).map_err(|why| format!("'{}{inner}{}' {why}", form.open, form.close))?;
            pieces.push(Piece::Path { path, escape: form.escape });
            rest = after;
        }
        known(rest)?;
        push_text(&mut pieces, rest);
        Ok(Template { source: source.to_owned(), pieces })
    }

    /// The text that it was compiled from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The text of a template that names no value.
    pub fn literal(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Fills the template; a value that is missing prints as nothing.
    pub fn render<'v>(&self, lookup: impl Fn(&str) -> Option<&'v Value>) -> Rendered {
        let mut out = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Path { path, escape } => {
                    let text = find(path, &lookup).map(plain_text).unwrap_or_default();
                    if *escape { escape_html(&text, &mut out) } else { out.push_str(&text) }
                }
            }
        }
        Rendered { text: out, error: None }
    }
}

fn next_form(text: &str) -> Option<(usize, &'static Form)> {
    FORMS.iter().filter_map(|form| opening(text, form).map(|at| (at, form))).min_by_key(|it| it.0)
}

/// Where a form opens; of three braces in a row the first is text.
fn opening(text: &str, form: &Form) -> Option<usize> {
    if form.open == "#{" {
        // In `#{{path}}` the number sign is text.
        return text.match_indices("#{").map(|it| it.0).find(|at| !text.get(at + 2..).is_some_and(|it| it.starts_with('{')));
    }
    let at = text.find(form.open)?;
    let braces = text.get(at..)?.bytes().take_while(|it| *it == b'{').count();
    Some(at + braces.saturating_sub(form.open.len()))
}

fn known(text: &str) -> Result<(), String> {
    let word = |it: &&str| it.starts_with(|c: char| c.is_alphabetic() || "$#|".contains(c));
    let brackets = text.match_indices("[[").filter_map(|(at, _)| text.get(at + 2..).map(str::trim_start)).find(word);
    // Brackets that hold JSON are text; a word in them would be an expression.
    if brackets.is_some_and(|it| !["true", "false", "null"].iter().any(|literal| it.starts_with(literal))) {
        return Err("'[[' opens an expression without ${…}; use [[${path}]]".to_owned());
    }
    match UNKNOWN.iter().find(|it| text.contains(it.0)) {
        None => Ok(()),
        Some((open, name)) => Err(format!("'{open}' is {name}, which templates do not have; use {{{{path}}}}")),
    }
}

fn push_text(pieces: &mut Vec<Piece>, text: &str) {
    if !text.is_empty() {
        pieces.push(Piece::Text(text.to_owned()));
    }
}

fn characters(source: &str, byte: usize) -> usize {
    source.char_indices().take_while(|it| it.0 < byte).count() + 1
}

/// Reads `a.b`, `a?.b`, `a['b']`, `a["b"]` and `a[0]`.
fn parse_path(source: &str) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let mut rest = source.trim();
    if rest.is_empty() {
        return Err("names no value".to_owned());
    }
    while !rest.is_empty() {
        if let Some(tail) = rest.strip_prefix('[') {
            let (part, after) = bracket(tail)?;
            parts.push(part);
            rest = after;
            continue;
        }
        if !parts.is_empty() {
            rest = rest.strip_prefix("?.").or_else(|| rest.strip_prefix('.')).ok_or_else(|| not_a_path(rest))?;
        }
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        if name.is_empty() {
            return Err(not_a_path(rest));
        }
        parts.push(Part::Name(name.to_owned()));
        rest = after;
    }
    Ok(parts)
}

fn bracket(tail: &str) -> Result<(Part, &str), String> {
    for quote in ['\'', '"'] {
        if let Some(text) = tail.strip_prefix(quote) {
            let close = format!("{quote}]");
            let (name, after) = text.split_once(close.as_str()).ok_or_else(|| not_a_path(tail))?;
            return Ok((Part::Name(name.to_owned()), after));
        }
    }
    let (number, after) = tail.split_once(']').ok_or_else(|| not_a_path(tail))?;
    let index = number.trim().parse().map_err(|_| not_a_path(tail))?;
    Ok((Part::Index(index), after))
}

fn not_a_path(rest: &str) -> String {
    format!("is not a path: '{rest}' was not expected; use names joined by dots, or ['name'] and [0]")
}

fn find<'v>(path: &[Part], lookup: &impl Fn(&str) -> Option<&'v Value>) -> Option<&'v Value> {
    let (first, rest) = path.split_first()?;
    let Part::Name(name) = first else { return None };
    rest.iter().try_fold(lookup(name)?, |value, part| match part {
        Part::Name(name) => value.get(name),
        Part::Index(index) => value.get(index),
    })
}

fn escape_html(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn render(source: &str) -> String {
        let variables = json!({"a": {"b": [1, {"c d": "x"}], "n": null, "f": 2.0}, "t": "<'{{a}}'>"});
        Template::compile(source).unwrap().render(|name| variables.get(name)).text
    }

    #[test]
    fn the_three_forms_print_values() {
        assert_eq!(render("{{a.b[0]}}|[(${a['b'][1][\"c d\"]})]|[[${t}]]|{{ a?.f }}"), "1|x|&lt;&#39;{{a}}&#39;&gt;|2.0");
        assert_eq!(render("#{a.f}[${a.f}][[[${a.f}]]]"), "2.02.0[2.0]");
        assert_eq!(render("{{a.b}} {{t}}"), r#"[1,{"c d":"x"}] <'{{a}}'>"#);
    }

    #[test]
    fn missing_values_print_as_nothing() {
        assert_eq!(render("{{{a.f}}} #{{a.f}}"), "{2.0} #2.0");
        assert_eq!(render("({{a.x.y}}{{nope}}{{a.n}}{{a.b[7]}}{{a.b.c}})"), "()");
    }

    #[test]
    fn text_that_only_looks_like_a_form_stays() {
        let text = r#"{"rows":[[1,2],["x"],[["a"],[true,null]]],"a":{"b":1}} # {x} [x] ${a} (x)]"#;
        assert_eq!(render(text), text);
    }

    #[test]
    fn bad_templates_say_what_is_wrong() {
        for (source, expected) in [
            ("hé {{a", "'{{' at character 4 is not closed by '}}'"),
            ("{{}}", "'{{}}' names no value"),
            ("{{a b}}", "is not a path"),
            ("{{T(java.lang.Runtime).exec('x')}}", "is not a path"),
            ("[# th:if=\"${a}\"]x[/]", "block tag"),
            ("[[ userText ]]", "without ${…}"),
            ("[(userText)]", "without ${…}"),
        ] {
            let error = Template::compile(source).unwrap_err();
            assert!(error.contains(expected), "{source}: {error}");
        }
    }
}
