//! Finds the templates, expressions and variable paths of a document.

use convengine_text::expr::{self, Expr};
use convengine_text::interpolation::{self, Interpolation};
use convengine_text::variable_path::{VariablePath, with_brackets};
use serde_json::Value;

/// A template, an expression or a path.
pub(super) struct SourceText<'g> {
    /// The JSON Pointer to it.
    pub path: String,
    /// The source text.
    pub source: &'g str,
    pub kind: TextKind,
    /// The parse result.
    pub parsed: ParsedText,
    /// Additional roots that are available here.
    pub extra_roots: &'static [&'static str],
    /// The name of its owner, outside of graphs.
    pub owner_name: Option<String>,
}

/// The purpose of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
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
    TextBody,
    /// A condition.
    Condition,
    /// An expression that computes a value.
    Formula,
    /// The path of a variable.
    Path,
}

/// The parse result of a text.
pub(super) enum ParsedText {
    Interpolation(Result<Interpolation, interpolation::InterpolationError>),
    Expr(Result<Expr, expr::ExprError>),
    Path(Option<VariablePath>),
}

impl TextKind {
    /// Whether the host resolves secrets here.
    pub fn accepts_secrets(self) -> bool {
        matches!(self, TextKind::Url | TextKind::Query | TextKind::Header | TextKind::Body | TextKind::TextBody)
    }
}

impl<'g> SourceText<'g> {
    fn from_template(path: String, source: &'g str, kind: TextKind, extra_roots: &'static [&'static str]) -> SourceText<'g> {
        SourceText { path, source, kind, parsed: ParsedText::Interpolation(Interpolation::parse(source)), extra_roots, owner_name: None }
    }

    /// Parses a condition of a workflow graph.
    pub fn from_workflow_condition(path: String, source: &'g str) -> SourceText<'g> {
        let parsed = ParsedText::Expr(Expr::parse_workflow(if source.trim().is_empty() { "else" } else { source }));
        SourceText { path, source, kind: TextKind::Condition, parsed, extra_roots: &[], owner_name: None }
    }

    /// Parses the condition of a case of a chain.
    fn from_case(path: String, source: &'g str) -> SourceText<'g> {
        let parsed = ParsedText::Expr(Expr::parse_workflow(source));
        SourceText { path, source, kind: TextKind::Condition, parsed, extra_roots: &[], owner_name: None }
    }

    /// Parses a condition.
    pub fn from_condition(path: String, source: &'g str, extra_roots: &'static [&'static str]) -> SourceText<'g> {
        SourceText { path, source, kind: TextKind::Condition, parsed: ParsedText::Expr(Expr::parse(source)), extra_roots, owner_name: None }
    }

    fn from_formula(path: String, source: &'g str) -> SourceText<'g> {
        SourceText {
            path,
            source,
            kind: TextKind::Formula,
            parsed: ParsedText::Expr(Expr::parse_value(source)),
            extra_roots: &[],
            owner_name: None,
        }
    }

    fn from_variable(path: String, source: &'g str) -> SourceText<'g> {
        SourceText {
            path,
            source,
            kind: TextKind::Path,
            parsed: ParsedText::Path(VariablePath::parse(source).ok()),
            extra_roots: &[],
            owner_name: None,
        }
    }

    /// Returns the template, if it is a valid one.
    pub fn interpolation(&self) -> Option<&Interpolation> {
        if let ParsedText::Interpolation(Ok(braces)) = &self.parsed { Some(braces) } else { None }
    }

    /// Returns the expression, if it is a valid one.
    pub fn expr(&self) -> Option<&Expr> {
        if let ParsedText::Expr(Ok(expr)) = &self.parsed { Some(expr) } else { None }
    }

    /// How to write a name with `-`, where a path that is not known is the beginning of one, or what follows the `-` in it.
    pub fn bracket_fix(&self, path: &VariablePath) -> Option<String> {
        let words = self.source.split(|it: char| !(it.is_ascii_alphanumeric() || "_.-".contains(it)));
        let (name, path) = (path.first_name(), path.to_string());
        let is_part = |it: &&str| it.strip_prefix(&path).is_some_and(|it| it.starts_with('-')) || it.contains(&format!("-{name}"));
        let written = words.filter(is_part).find_map(with_brackets)?;
        Some(format!("write {written} for a name with '-', or put blanks around the minus"))
    }

    /// Returns the paths that it reads.
    pub fn paths(&self) -> Vec<VariablePath> {
        match &self.parsed {
            ParsedText::Interpolation(Ok(braces)) => braces.paths(),
            ParsedText::Expr(Ok(expr)) => expr.paths(),
            ParsedText::Path(Some(path)) => vec![path.clone()],
            ParsedText::Interpolation(Err(_)) | ParsedText::Expr(Err(_)) | ParsedText::Path(None) => Vec::new(),
        }
    }
}

/// Collects the texts of an object.
struct TextCollector<'g> {
    texts: Vec<SourceText<'g>>,
    extra_roots: &'static [&'static str],
}

/// Returns the texts of a node, without those of its edges.
pub(super) fn node_texts<'g>(node: &'g Value, path: &str) -> Vec<SourceText<'g>> {
    let mut collector = TextCollector { texts: Vec::new(), extra_roots: &[] };
    let Some(data) = node.get("data") else { return Vec::new() };
    let base = format!("{path}/data");
    match node.get("type").and_then(Value::as_str).unwrap_or_default() {
        "end" => {
            collector.collect_localized(data, &base, "final_message");
            collector.collect_value(data, &base, "outputs", TextKind::Text);
        }
        "message" => collector.for_each_item(data, &base, "blocks", TextCollector::collect_block),
        "entity" => collector.collect_entity(data, &base),
        "service" | "tool" => {
            collector.collect_value(data, &base, "args", TextKind::Text);
            collector.collect_text(data, &base, "idempotency_key", TextKind::Text);
            collector.extra_roots = &["args"];
            collector.collect_request(data, &base);
            collector.collect_output_defaults(data, &base);
        }
        "flow-agent" | "workflow" | "agent" => collector.collect_value(data, &base, "inputs", TextKind::Text),
        "set" => collector.for_each_item(data, &base, "assign", |collector, it, path| {
            collector.collect_value(it, path, "value", TextKind::Text);
            collector.collect_formula(it, path, "expr");
        }),
        "handoff" => {
            ["queue", "reason"].iter().for_each(|it| collector.collect_text(data, &base, it, TextKind::Text));
            collector.collect_localized(data, &base, "message");
            collector.collect_paths(data, &base, "context");
        }
        "subflow" => collector.collect_value(data, &base, "inputs", TextKind::Text),
        "knowledge" => {
            if let Some(query) = data.get("query") {
                collector.collect_text(query, &format!("{base}/query"), "template", TextKind::Text);
            }
            collector.collect_text(data, &base, "instructions", TextKind::Text);
        }
        "python" => collector.collect_paths(data, &base, "inputs"),
        "instruction_agent" => {
            collector.collect_text(data, &base, "instructions", TextKind::Text);
            collector.collect_localized(data, &base, "greeting");
            collector.collect_condition(data, &base, "exit_when", &[]);
        }
        _ => {}
    }
    collector.texts
}

/// Returns the texts outside of graphs.
pub(super) fn document_texts(document: &Value) -> Vec<SourceText<'_>> {
    let mut collector = TextCollector { texts: Vec::new(), extra_roots: &[] };
    collector.for_each_item(document, "", "intents", |collector, it, path| {
        collector.for_each_item(it, path, "parameters", |collector, it, path| {
            collector.collect_localized(it, path, "prompt");
            collector.collect_list(it, path, "reprompt");
            collector.collect_localized(it, path, "help");
        });
    });
    collector.extra_roots = &["args"];
    collector.for_each_item(document, "", "tools", |collector, it, path| {
        let from = collector.texts.len();
        collector.collect_request(it, path);
        collector.collect_output_defaults(it, path);
        let name = it.get("name").and_then(Value::as_str).map(str::to_owned);
        collector.texts.iter_mut().skip(from).for_each(|it| it.owner_name.clone_from(&name));
    });
    collector.extra_roots = &[];
    collector.for_each_item(document, "", "guardrails", |collector, it, path| {
        if let Some(config) = it.get("config") {
            collector.collect_condition(config, &format!("{path}/config"), "expr", &[]);
        }
    });
    collector.for_each_item(document, "", "small_talk", |collector, it, path| collector.collect_list(it, path, "responses"));
    for name in ["welcome", "fallback", "no_input"] {
        let path = format!("/events/{name}");
        if let Some(event) = document.pointer(&path) {
            collector.collect_localized(event, &path, "message");
        }
    }
    if let Some(settings) = document.get("settings") {
        collector.collect_localized(settings, "/settings", "error_message");
        collector.collect_text(settings, "/settings", "handoff_webhook_url", TextKind::Text);
    }
    if let Some((texts, members)) = document.get("engine_texts").and_then(|it| Some((it, it.as_object()?))) {
        members.keys().for_each(|name| collector.collect_localized(texts, "/engine_texts", name));
    }
    collector.texts
}

/// Returns the texts of a step of a chain.
pub(super) fn chain_step_texts<'g>(step: &'g Value, path: &str) -> Vec<SourceText<'g>> {
    let mut collector = TextCollector { texts: Vec::new(), extra_roots: &[] };
    let Some(config) = step.get("config") else { return Vec::new() };
    let base = format!("{path}/config");
    let names: &[&str] = match step.get("kind").and_then(Value::as_str).unwrap_or_default() {
        "assistant" | "agent" => &["input"],
        "webhook" => {
            collector.collect_request_members(config, &base);
            collector.collect_output_defaults(config, &base);
            &[]
        }
        "human" => &["prompt"],
        "decide" => {
            collector.for_each_item(config, &base, "cases", |collector, it, path| {
                let source = it.get("expr").and_then(Value::as_str);
                collector.texts.extend(source.map(|it| SourceText::from_case(format!("{path}/expr"), it)));
            });
            &["on"]
        }
        "notify" => {
            collector.collect_list(config, &base, "to");
            &["subject", "text"]
        }
        "schedule" => &["at"],
        _ => &[],
    };
    names.iter().for_each(|it| collector.collect_text(config, &base, it, TextKind::Text));
    collector.texts
}

impl<'g> TextCollector<'g> {
    fn for_each_item(&mut self, object: &'g Value, path: &str, name: &str, mut take: impl FnMut(&mut TextCollector<'g>, &'g Value, &str)) {
        for (at, item) in object.get(name).and_then(Value::as_array).into_iter().flatten().enumerate() {
            take(self, item, &format!("{path}/{name}/{at}"));
        }
    }

    fn push_template(&mut self, source: &'g str, path: String, kind: TextKind) {
        let here = self.extra_roots;
        self.texts.push(SourceText::from_template(path, source, kind, here));
    }

    fn collect_text(&mut self, object: &'g Value, path: &str, name: &str, kind: TextKind) {
        if let Some(text) = object.get(name).and_then(Value::as_str) {
            self.push_template(text, format!("{path}/{name}"), kind);
        }
    }

    fn collect_condition(&mut self, object: &'g Value, path: &str, name: &str, here: &'static [&'static str]) {
        if let Some(text) = object.get(name).and_then(Value::as_str) {
            self.texts.push(SourceText::from_condition(format!("{path}/{name}"), text, here));
        }
    }

    fn collect_formula(&mut self, object: &'g Value, path: &str, name: &str) {
        if let Some(text) = object.get(name).and_then(Value::as_str) {
            self.texts.push(SourceText::from_formula(format!("{path}/{name}"), text));
        }
    }

    fn collect_paths(&mut self, object: &'g Value, path: &str, name: &str) {
        self.for_each_item(object, path, name, |collector, it, path| {
            collector.texts.extend(it.as_str().map(|text| SourceText::from_variable(path.to_owned(), text)));
        });
    }

    /// Adds a localized text: its variants are the string leaves of a value.
    fn collect_localized(&mut self, object: &'g Value, path: &str, name: &str) {
        self.collect_value(object, path, name, TextKind::Text);
    }

    fn collect_list(&mut self, object: &'g Value, path: &str, name: &str) {
        self.collect_value(object, path, name, TextKind::Text);
    }

    fn collect_value(&mut self, object: &'g Value, path: &str, name: &str, kind: TextKind) {
        if let Some(value) = object.get(name) {
            self.collect_leaves(value, &mut format!("{path}/{name}"), kind);
        }
    }

    fn collect_leaves(&mut self, value: &'g Value, path: &mut String, kind: TextKind) {
        let length = path.len();
        match value {
            Value::String(text) => self.push_template(text, path.clone(), kind),
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    path.push('/');
                    path.push_str(&at.to_string());
                    self.collect_leaves(item, path, kind);
                    path.truncate(length);
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    path.push('/');
                    path.push_str(&name.replace('~', "~0").replace('/', "~1"));
                    self.collect_leaves(member, path, kind);
                    path.truncate(length);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn collect_entity(&mut self, data: &'g Value, path: &str) {
        self.collect_localized(data, path, "prompt");
        self.collect_list(data, path, "reprompt");
        self.collect_localized(data, path, "help");
        self.collect_value(data, path, "default", TextKind::Text);
        self.collect_buttons(data, path);
        self.for_each_item(data, path, "validation", |collector, it, path| {
            collector.collect_condition(it, path, "expr", &["value"]);
            collector.collect_localized(it, path, "message");
        });
    }

    fn collect_buttons(&mut self, object: &'g Value, path: &str) {
        self.for_each_item(object, path, "buttons", |collector, it, path| {
            collector.collect_localized(it, path, "label");
            collector.collect_text(it, path, "url", TextKind::Text);
        });
    }

    fn collect_block(&mut self, block: &'g Value, path: &str) {
        let is_list = block.get("items_from").is_some();
        if let Some(source) = block.get("items_from").and_then(Value::as_str) {
            self.texts.push(SourceText::from_variable(format!("{path}/items_from"), source));
        }
        self.collect_localized(block, path, "text");
        ["url", "alt"].iter().for_each(|it| self.collect_text(block, path, it, TextKind::Text));
        self.collect_value(block, path, "payload", TextKind::Text);
        self.collect_card(block, path);
        self.extra_roots = if is_list { &["item", "index"] } else { &[] };
        self.for_each_item(block, path, "items", |collector, it, path| {
            collector.collect_card(it, path);
            collector.collect_value(it, path, "value", TextKind::Text);
        });
        self.extra_roots = &[];
    }

    fn collect_card(&mut self, card: &'g Value, path: &str) {
        ["title", "subtitle", "image_url"].iter().for_each(|it| self.collect_text(card, path, it, TextKind::Text));
        self.collect_buttons(card, path);
    }

    fn collect_request(&mut self, object: &'g Value, path: &str) {
        if let Some(request) = object.get("request") {
            self.collect_request_members(request, &format!("{path}/request"));
        }
    }

    fn collect_output_defaults(&mut self, object: &'g Value, path: &str) {
        self.for_each_item(object, path, "outputs", |collector, it, path| collector.collect_value(it, path, "default", TextKind::Text));
    }

    fn collect_request_members(&mut self, request: &'g Value, path: &str) {
        self.collect_text(request, path, "url", TextKind::Url);
        self.collect_value(request, path, "query", TextKind::Query);
        self.collect_value(request, path, "headers", TextKind::Header);
        let is_text = request.get("body").is_some_and(Value::is_string);
        self.collect_value(request, path, "body", if is_text { TextKind::TextBody } else { TextKind::Body });
    }
}
