//! Finds the templates, expressions and variable paths of a document.

use serde_json::Value;

use crate::text::braces::{self, Braces};
use crate::text::expr::{self, Expr};
use crate::text::path::Path;

/// A template, an expression or a path.
pub(super) struct Spot<'g> {
    /// The JSON Pointer to it.
    pub path: String,
    /// The source text.
    pub source: &'g str,
    pub kind: Kind,
    /// The parse result.
    pub read: Read,
    /// Additional roots that are available here.
    pub here: &'static [&'static str],
    /// The name of its owner, outside of graphs.
    pub name: Option<String>,
}

/// The purpose of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A message text, or a part of a JSON value.
    Text,
    /// The URL of a request.
    Url,
    /// A query parameter of a request.
    Query,
    /// A header of a request.
    Header,
    /// A text within a JSON request body.
    Body,
    /// A request body that is one text.
    Whole,
    /// A condition.
    Condition,
    /// An expression that computes a value.
    Formula,
    /// The path of a variable.
    Path,
}

/// The parse result of a text.
pub(super) enum Read {
    Braces(Result<Braces, braces::Wrong>),
    Expr(Result<Expr, expr::Wrong>),
    Path(Option<Path>),
}

impl Kind {
    /// Whether the host resolves secrets here.
    pub fn takes_secrets(self) -> bool {
        matches!(self, Kind::Url | Kind::Query | Kind::Header | Kind::Body | Kind::Whole)
    }
}

impl<'g> Spot<'g> {
    fn template(path: String, source: &'g str, kind: Kind, here: &'static [&'static str]) -> Spot<'g> {
        Spot { path, source, kind, read: Read::Braces(Braces::parse(source)), here, name: None }
    }

    /// Parses a condition.
    pub fn condition(path: String, source: &'g str, here: &'static [&'static str]) -> Spot<'g> {
        Spot { path, source, kind: Kind::Condition, read: Read::Expr(Expr::parse(source)), here, name: None }
    }

    fn formula(path: String, source: &'g str) -> Spot<'g> {
        Spot { path, source, kind: Kind::Formula, read: Read::Expr(Expr::parse_value(source)), here: &[], name: None }
    }

    fn variable(path: String, source: &'g str) -> Spot<'g> {
        Spot { path, source, kind: Kind::Path, read: Read::Path(Path::parse(source).ok()), here: &[], name: None }
    }

    /// Returns the template, if it is a valid one.
    pub fn braces(&self) -> Option<&Braces> {
        if let Read::Braces(Ok(braces)) = &self.read { Some(braces) } else { None }
    }

    /// Returns the expression, if it is a valid one.
    pub fn expr(&self) -> Option<&Expr> {
        if let Read::Expr(Ok(expr)) = &self.read { Some(expr) } else { None }
    }

    /// Returns the paths that it reads.
    pub fn reads(&self) -> Vec<Path> {
        match &self.read {
            Read::Braces(Ok(braces)) => braces.reads(),
            Read::Expr(Ok(expr)) => expr.reads(),
            Read::Path(Some(path)) => vec![path.clone()],
            Read::Braces(Err(_)) | Read::Expr(Err(_)) | Read::Path(None) => Vec::new(),
        }
    }
}

/// Collects the texts of an object.
struct Spots<'g> {
    found: Vec<Spot<'g>>,
    here: &'static [&'static str],
}

/// Returns the texts of a node, without those of its edges.
pub(super) fn of_node<'g>(node: &'g Value, path: &str) -> Vec<Spot<'g>> {
    let mut collector = Spots { found: Vec::new(), here: &[] };
    let Some(data) = node.get("data") else { return Vec::new() };
    let base = format!("{path}/data");
    match node.get("type").and_then(Value::as_str).unwrap_or_default() {
        "end" => {
            collector.localized(data, &base, "final_message");
            collector.filling(data, &base, "outputs", Kind::Text);
        }
        "message" => collector.items(data, &base, "blocks", Spots::block),
        "entity" => collector.entity(data, &base),
        "service" => {
            collector.filling(data, &base, "args", Kind::Text);
            collector.text(data, &base, "idempotency_key", Kind::Text);
            collector.here = &["args"];
            collector.request(data, &base);
        }
        "set" => collector.items(data, &base, "assign", |collector, it, path| {
            collector.filling(it, path, "value", Kind::Text);
            collector.formula(it, path, "expr");
        }),
        "handoff" => {
            ["queue", "reason"].iter().for_each(|it| collector.text(data, &base, it, Kind::Text));
            collector.localized(data, &base, "message");
            collector.paths(data, &base, "context");
        }
        "subflow" => collector.filling(data, &base, "inputs", Kind::Text),
        "knowledge" => {
            if let Some(query) = data.get("query") {
                collector.text(query, &format!("{base}/query"), "template", Kind::Text);
            }
            collector.text(data, &base, "instructions", Kind::Text);
        }
        "python" => collector.paths(data, &base, "inputs"),
        "instruction_agent" => {
            collector.text(data, &base, "instructions", Kind::Text);
            collector.localized(data, &base, "greeting");
            collector.condition(data, &base, "exit_when", &[]);
        }
        _ => {}
    }
    collector.found
}

/// Returns the texts outside of graphs.
pub(super) fn of_document(document: &Value) -> Vec<Spot<'_>> {
    let mut collector = Spots { found: Vec::new(), here: &[] };
    collector.items(document, "", "intents", |collector, it, path| {
        collector.items(it, path, "parameters", |collector, it, path| {
            collector.localized(it, path, "prompt");
            collector.each(it, path, "reprompt");
        });
    });
    collector.here = &["args"];
    collector.items(document, "", "tools", |collector, it, path| {
        let from = collector.found.len();
        collector.request(it, path);
        let name = it.get("name").and_then(Value::as_str).map(str::to_owned);
        collector.found.iter_mut().skip(from).for_each(|it| it.name.clone_from(&name));
    });
    collector.here = &[];
    collector.items(document, "", "small_talk", |collector, it, path| collector.each(it, path, "responses"));
    for name in ["welcome", "fallback", "no_input"] {
        let path = format!("/events/{name}");
        if let Some(event) = document.pointer(&path) {
            collector.localized(event, &path, "message");
        }
    }
    if let Some(settings) = document.get("settings") {
        collector.localized(settings, "/settings", "error_message");
        collector.text(settings, "/settings", "handoff_webhook_url", Kind::Text);
    }
    collector.found
}

impl<'g> Spots<'g> {
    fn items(&mut self, object: &'g Value, path: &str, name: &str, mut take: impl FnMut(&mut Spots<'g>, &'g Value, &str)) {
        for (at, item) in object.get(name).and_then(Value::as_array).into_iter().flatten().enumerate() {
            take(self, item, &format!("{path}/{name}/{at}"));
        }
    }

    fn push(&mut self, source: &'g str, path: String, kind: Kind) {
        let here = self.here;
        self.found.push(Spot::template(path, source, kind, here));
    }

    fn text(&mut self, object: &'g Value, path: &str, name: &str, kind: Kind) {
        if let Some(text) = object.get(name).and_then(Value::as_str) {
            self.push(text, format!("{path}/{name}"), kind);
        }
    }

    fn condition(&mut self, object: &'g Value, path: &str, name: &str, here: &'static [&'static str]) {
        if let Some(text) = object.get(name).and_then(Value::as_str) {
            self.found.push(Spot::condition(format!("{path}/{name}"), text, here));
        }
    }

    fn formula(&mut self, object: &'g Value, path: &str, name: &str) {
        if let Some(text) = object.get(name).and_then(Value::as_str) {
            self.found.push(Spot::formula(format!("{path}/{name}"), text));
        }
    }

    fn paths(&mut self, object: &'g Value, path: &str, name: &str) {
        self.items(object, path, name, |collector, it, path| {
            collector.found.extend(it.as_str().map(|text| Spot::variable(path.to_owned(), text)));
        });
    }

    /// Adds a localized text: its variants are the string leaves of a value.
    fn localized(&mut self, object: &'g Value, path: &str, name: &str) {
        self.filling(object, path, name, Kind::Text);
    }

    fn each(&mut self, object: &'g Value, path: &str, name: &str) {
        self.filling(object, path, name, Kind::Text);
    }

    fn filling(&mut self, object: &'g Value, path: &str, name: &str, kind: Kind) {
        if let Some(value) = object.get(name) {
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
        self.items(data, path, "validation", |collector, it, path| {
            collector.condition(it, path, "expr", &["value"]);
            collector.localized(it, path, "message");
        });
    }

    fn buttons(&mut self, object: &'g Value, path: &str) {
        self.items(object, path, "buttons", |collector, it, path| {
            ["label", "url"].iter().for_each(|name| collector.text(it, path, name, Kind::Text));
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
        self.items(block, path, "items", |collector, it, path| {
            collector.card(it, path);
            collector.filling(it, path, "value", Kind::Text);
        });
        self.here = &[];
    }

    fn card(&mut self, card: &'g Value, path: &str) {
        ["title", "subtitle", "image_url"].iter().for_each(|it| self.text(card, path, it, Kind::Text));
        self.buttons(card, path);
    }

    fn request(&mut self, object: &'g Value, path: &str) {
        let Some(request) = object.get("request") else { return };
        let path = format!("{path}/request");
        self.text(request, &path, "url", Kind::Url);
        self.filling(request, &path, "query", Kind::Query);
        self.filling(request, &path, "headers", Kind::Header);
        let is_text = request.get("body").is_some_and(Value::is_string);
        self.filling(request, &path, "body", if is_text { Kind::Whole } else { Kind::Body });
    }
}
