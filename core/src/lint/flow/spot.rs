//! Where a document holds templates, expressions and paths of variables.

use serde_json::Value;

use crate::text::braces::{self, Braces};
use crate::text::expr::{self, Expr};
use crate::text::path::Path;

/// A template, an expression or a path.
pub(super) struct Spot<'g> {
    /// JSON pointer to it.
    pub path: String,
    /// As it is written.
    pub source: &'g str,
    pub kind: Kind,
    /// What it is read as.
    pub read: Read,
    /// Roots that can be named here beside those that can be named everywhere.
    pub here: &'static [&'static str],
    /// What it belongs to outside of graphs.
    pub name: Option<String>,
}

/// What a text is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Something that is said, or a part of a JSON value.
    Text,
    /// The address of a request.
    Url,
    /// A part of the query of an address.
    Query,
    /// A header of a request.
    Header,
    /// A text within the body of a request.
    Body,
    /// A body that is one text.
    Whole,
    /// A condition.
    Condition,
    /// An expression that makes a value.
    Formula,
    /// The path of a variable that is read.
    Path,
}

/// What a text is read as.
pub(super) enum Read {
    Braces(Result<Braces, braces::Wrong>),
    Expr(Result<Expr, expr::Wrong>),
    Path(Option<Path>),
}

impl Kind {
    /// Whether the host puts secrets in here.
    pub fn takes_secrets(self) -> bool {
        matches!(self, Kind::Url | Kind::Query | Kind::Header | Kind::Body | Kind::Whole)
    }
}

impl<'g> Spot<'g> {
    fn template(path: String, source: &'g str, kind: Kind, here: &'static [&'static str]) -> Spot<'g> {
        Spot { path, source, kind, read: Read::Braces(Braces::parse(source)), here, name: None }
    }

    /// A condition.
    pub fn condition(path: String, source: &'g str, here: &'static [&'static str]) -> Spot<'g> {
        Spot { path, source, kind: Kind::Condition, read: Read::Expr(Expr::parse(source)), here, name: None }
    }

    fn formula(path: String, source: &'g str) -> Spot<'g> {
        Spot { path, source, kind: Kind::Formula, read: Read::Expr(Expr::parse_value(source)), here: &[], name: None }
    }

    fn variable(path: String, source: &'g str) -> Spot<'g> {
        Spot { path, source, kind: Kind::Path, read: Read::Path(Path::parse(source).ok()), here: &[], name: None }
    }

    /// The template, when it is one that can be read.
    pub fn braces(&self) -> Option<&Braces> {
        if let Read::Braces(Ok(braces)) = &self.read { Some(braces) } else { None }
    }

    /// The expression, when it is one that can be read.
    pub fn expr(&self) -> Option<&Expr> {
        if let Read::Expr(Ok(expr)) = &self.read { Some(expr) } else { None }
    }

    /// The paths that it names.
    pub fn reads(&self) -> Vec<Path> {
        match &self.read {
            Read::Braces(Ok(braces)) => braces.reads(),
            Read::Expr(Ok(expr)) => expr.reads(),
            Read::Path(Some(path)) => vec![path.clone()],
            Read::Braces(Err(_)) | Read::Expr(Err(_)) | Read::Path(None) => Vec::new(),
        }
    }
}

/// Collects the texts of one object.
struct Spots<'g> {
    found: Vec<Spot<'g>>,
    here: &'static [&'static str],
}

/// The texts of a node; those of its edges are not among them.
pub(super) fn of_node<'g>(node: &'g Value, path: &str) -> Vec<Spot<'g>> {
    let mut spots = Spots { found: Vec::new(), here: &[] };
    let Some(data) = node.get("data") else { return Vec::new() };
    let base = format!("{path}/data");
    match node.get("type").and_then(Value::as_str).unwrap_or_default() {
        "end" => {
            spots.localized(data, &base, "final_message");
            spots.filling(data, &base, "outputs", Kind::Text);
        }
        "message" => spots.items(data, &base, "blocks", Spots::block),
        "entity" => spots.entity(data, &base),
        "service" => {
            spots.filling(data, &base, "args", Kind::Text);
            spots.text(data, &base, "idempotency_key", Kind::Text);
            spots.here = &["args"];
            spots.request(data, &base);
        }
        "set" => spots.items(data, &base, "assign", |spots, it, path| {
            spots.filling(it, path, "value", Kind::Text);
            spots.formula(it, path, "expr");
        }),
        "handoff" => {
            ["queue", "reason"].iter().for_each(|it| spots.text(data, &base, it, Kind::Text));
            spots.localized(data, &base, "message");
            spots.paths(data, &base, "context");
        }
        "subflow" => spots.filling(data, &base, "inputs", Kind::Text),
        "knowledge" => {
            if let Some(query) = data.get("query") {
                spots.text(query, &format!("{base}/query"), "template", Kind::Text);
            }
            spots.text(data, &base, "instructions", Kind::Text);
        }
        "python" => spots.paths(data, &base, "inputs"),
        "instruction_agent" => {
            spots.text(data, &base, "instructions", Kind::Text);
            spots.localized(data, &base, "greeting");
            spots.condition(data, &base, "exit_when", &[]);
        }
        _ => {}
    }
    spots.found
}

/// The texts outside of graphs.
pub(super) fn of_document(document: &Value) -> Vec<Spot<'_>> {
    let mut spots = Spots { found: Vec::new(), here: &[] };
    spots.items(document, "", "intents", |spots, it, path| {
        spots.items(it, path, "parameters", |spots, it, path| {
            spots.localized(it, path, "prompt");
            spots.each(it, path, "reprompt");
        });
    });
    spots.here = &["args"];
    spots.items(document, "", "tools", |spots, it, path| {
        let from = spots.found.len();
        spots.request(it, path);
        let name = it.get("name").and_then(Value::as_str).map(str::to_owned);
        spots.found.iter_mut().skip(from).for_each(|it| it.name.clone_from(&name));
    });
    spots.here = &[];
    spots.items(document, "", "small_talk", |spots, it, path| spots.each(it, path, "responses"));
    for name in ["welcome", "fallback", "no_input"] {
        let path = format!("/events/{name}");
        if let Some(event) = document.pointer(&path) {
            spots.localized(event, &path, "message");
        }
    }
    if let Some(settings) = document.get("settings") {
        spots.localized(settings, "/settings", "error_message");
        spots.text(settings, "/settings", "handoff_webhook_url", Kind::Text);
    }
    spots.found
}

impl<'g> Spots<'g> {
    fn items(&mut self, of: &'g Value, path: &str, name: &str, mut take: impl FnMut(&mut Spots<'g>, &'g Value, &str)) {
        for (at, item) in of.get(name).and_then(Value::as_array).into_iter().flatten().enumerate() {
            take(self, item, &format!("{path}/{name}/{at}"));
        }
    }

    fn push(&mut self, source: &'g str, path: String, kind: Kind) {
        let here = self.here;
        self.found.push(Spot::template(path, source, kind, here));
    }

    fn text(&mut self, of: &'g Value, path: &str, name: &str, kind: Kind) {
        if let Some(text) = of.get(name).and_then(Value::as_str) {
            self.push(text, format!("{path}/{name}"), kind);
        }
    }

    fn condition(&mut self, of: &'g Value, path: &str, name: &str, here: &'static [&'static str]) {
        if let Some(text) = of.get(name).and_then(Value::as_str) {
            self.found.push(Spot::condition(format!("{path}/{name}"), text, here));
        }
    }

    fn formula(&mut self, of: &'g Value, path: &str, name: &str) {
        if let Some(text) = of.get(name).and_then(Value::as_str) {
            self.found.push(Spot::formula(format!("{path}/{name}"), text));
        }
    }

    fn paths(&mut self, of: &'g Value, path: &str, name: &str) {
        self.items(of, path, name, |spots, it, path| {
            spots.found.extend(it.as_str().map(|text| Spot::variable(path.to_owned(), text)));
        });
    }

    /// A text in variants, which is the same as a value whose texts are templates.
    fn localized(&mut self, of: &'g Value, path: &str, name: &str) {
        self.filling(of, path, name, Kind::Text);
    }

    fn each(&mut self, of: &'g Value, path: &str, name: &str) {
        self.filling(of, path, name, Kind::Text);
    }

    fn filling(&mut self, of: &'g Value, path: &str, name: &str, kind: Kind) {
        if let Some(value) = of.get(name) {
            self.leaves(value, &mut format!("{path}/{name}"), kind);
        }
    }

    fn leaves(&mut self, value: &'g Value, path: &mut String, kind: Kind) {
        let length = path.len();
        match value {
            Value::String(text) => self.push(text, path.clone(), kind),
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    path.push('/');
                    path.push_str(&at.to_string());
                    self.leaves(item, path, kind);
                    path.truncate(length);
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    path.push('/');
                    path.push_str(&name.replace('~', "~0").replace('/', "~1"));
                    self.leaves(member, path, kind);
                    path.truncate(length);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn entity(&mut self, data: &'g Value, path: &str) {
        self.localized(data, path, "prompt");
        self.each(data, path, "reprompt");
        self.buttons(data, path);
        self.items(data, path, "validation", |spots, it, path| {
            spots.condition(it, path, "expr", &["value"]);
            spots.localized(it, path, "message");
        });
    }

    fn buttons(&mut self, of: &'g Value, path: &str) {
        self.items(of, path, "buttons", |spots, it, path| {
            ["label", "url"].iter().for_each(|name| spots.text(it, path, name, Kind::Text));
        });
    }

    fn block(&mut self, block: &'g Value, path: &str) {
        let is_list = block.get("items_from").is_some();
        if let Some(source) = block.get("items_from").and_then(Value::as_str) {
            self.found.push(Spot::variable(format!("{path}/items_from"), source));
        }
        self.localized(block, path, "text");
        ["url", "alt"].iter().for_each(|it| self.text(block, path, it, Kind::Text));
        self.filling(block, path, "payload", Kind::Text);
        self.card(block, path);
        self.here = if is_list { &["item", "index"] } else { &[] };
        self.items(block, path, "items", |spots, it, path| {
            spots.card(it, path);
            spots.filling(it, path, "value", Kind::Text);
        });
        self.here = &[];
    }

    fn card(&mut self, card: &'g Value, path: &str) {
        ["title", "subtitle", "image_url"].iter().for_each(|it| self.text(card, path, it, Kind::Text));
        self.buttons(card, path);
    }

    fn request(&mut self, of: &'g Value, path: &str) {
        let Some(request) = of.get("request") else { return };
        let path = format!("{path}/request");
        self.text(request, &path, "url", Kind::Url);
        self.filling(request, &path, "query", Kind::Query);
        self.filling(request, &path, "headers", Kind::Header);
        let is_text = request.get("body").is_some_and(Value::is_string);
        self.filling(request, &path, "body", if is_text { Kind::Whole } else { Kind::Body });
    }
}
