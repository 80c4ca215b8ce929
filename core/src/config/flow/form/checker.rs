//! Checks values against shapes.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::super::issue::DocumentIssue;
use super::super::shape::{Field, Keys, LEAST, List, MOST, Pattern, Role, Shape, Tagged, WHOLE};
use super::place::Place;
use super::words::{found, listed, nearest, one_of, quoted, words};

/// The maximum number of reported issues of each severity.
const MANY: usize = 1000;

/// The codes of a value below and above its bounds.
type Codes = (&'static str, &'static str);

/// Checks one document.
pub(super) struct Checker<'v> {
    pub issues: Vec<DocumentIssue>,
    errors: usize,
    warnings: usize,
    /// Locales that texts should cover, without the default locale.
    locales: Vec<&'v str>,
}

impl<'v> Checker<'v> {
    /// Creates a checker for a document.
    pub fn of(source: &'v Value) -> Checker<'v> {
        let default_locale = source.get("default_locale").and_then(Value::as_str);
        let declared = source.get("locales").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let mut locales: Vec<&str> = Vec::new();
        // Bounds the work for a hostile document.
        for locale in declared.take(MANY).filter(|it| Some(*it) != default_locale && Pattern::Locale.fits(it)) {
            if !locales.contains(&locale) {
                locales.push(locale);
            }
        }
        Checker { issues: Vec::new(), errors: 0, warnings: 0, locales }
    }

    /// Reports an error, up to the maximum.
    pub fn error(&mut self, issue: impl FnOnce() -> DocumentIssue) {
        self.errors += 1;
        if self.errors <= MANY {
            self.issues.push(issue());
        }
    }

    fn warning(&mut self, issue: impl FnOnce() -> DocumentIssue) {
        self.warnings += 1;
        if self.warnings <= MANY {
            self.issues.push(issue());
        }
    }

    /// Checks a value against a shape.
    pub fn check(&mut self, shape: &Shape, value: &Value, place: &Place<'_>) {
        self.bounded(shape, value, place, ("D001", "D001"));
    }

    fn bounded(&mut self, shape: &Shape, value: &Value, place: &Place<'_>, codes: Codes) {
        match shape {
            Shape::Any => {}
            Shape::Free if value.is_object() => {}
            Shape::Bool if value.is_boolean() => {}
            Shape::Free | Shape::Bool => self.wrong("D001", shape, value, place),
            Shape::Text(min, max) => match value.as_str() {
                None => self.wrong("D001", shape, value, place),
                Some(text) => self.length(text_length(text, *max), (*min, *max), codes, shape, value, place),
            },
            Shape::Spelt(pattern) => match value.as_str() {
                None => self.wrong("D001", shape, value, place),
                Some(text) if pattern.fits(text) => {}
                Some(_) => self.wrong(pattern.code(), shape, value, place),
            },
            Shape::Const(text, code) => match value.as_str() {
                None => self.wrong("D001", shape, value, place),
                Some(found) if found == *text => {}
                Some(_) => self.wrong(code, shape, value, place),
            },
            Shape::Enum(allowed) => match value.as_str() {
                None => self.wrong("D001", shape, value, place),
                Some(text) if allowed.contains(&text) => {}
                Some(text) => self.unknown_value(text, allowed, place),
            },
            Shape::Integer(min, max) | Shape::Number(min, max) => {
                let is_whole = matches!(shape, Shape::Integer(..));
                match value.as_f64().filter(|it| !is_whole || is_integer(*it)) {
                    None => self.wrong("D001", shape, value, place),
                    Some(number) if *min != LEAST && number < f64::from(*min) => self.wrong(codes.0, shape, value, place),
                    Some(number) if *max != MOST && number > f64::from(*max) => self.wrong(codes.1, shape, value, place),
                    Some(_) => {}
                }
            }
            Shape::List(list) => match value.as_array() {
                None => self.wrong("D001", shape, value, place),
                Some(items) => {
                    self.length(items.len(), (list.min, list.max), codes, shape, value, place);
                    self.list(list, items, place);
                }
            },
            Shape::Map(of) | Shape::Texts(of) => match value.as_object() {
                None => self.wrong("D001", shape, value, place),
                Some(members) => {
                    for (key, member) in members {
                        self.check(of, member, &place.member(key));
                    }
                    if matches!(shape, Shape::Texts(_)) {
                        self.texts(members, place);
                    }
                }
            },
            Shape::Object(fields) => match value.as_object() {
                None => self.wrong("D001", shape, value, place),
                Some(members) => self.object(None, &[fields], members, place),
            },
            Shape::Tagged(tagged) => match value.as_object() {
                None => self.wrong("D001", shape, value, place),
                Some(members) => self.tagged(tagged, members, place),
            },
            Shape::AnyOf(shapes) => match shapes.iter().find(|it| takes(it, value)) {
                None => self.wrong("D001", shape, value, place),
                Some(fitting) => self.check(fitting, value, place),
            },
            Shape::Coded(coded) => self.bounded(&coded.shape, value, place, (coded.below, coded.above)),
            Shape::Named(definition) => self.check(&definition.shape, value, &place.of(definition.role, value)),
        }
    }

    fn wrong(&mut self, code: &'static str, shape: &Shape, value: &Value, place: &Place<'_>) {
        self.error(|| {
            let expected = words(shape);
            place.error(code, format!("{} must be {expected}, but is {}", place.title(), found(value))).fix(format!("write {expected}"))
        });
    }

    fn unknown_value(&mut self, text: &str, allowed: &[&str], place: &Place<'_>) {
        self.error(|| {
            let fix = match nearest(text, allowed.iter().copied()) {
                Some(near) => format!("write '{near}'"),
                None => format!("write {}", one_of(allowed.iter().copied())),
            };
            let message = format!("{} must be {}, but is {}", place.title(), one_of(allowed.iter().copied()), quoted(text));
            place.error("D002", message).fix(fix)
        });
    }

    fn length(&mut self, length: usize, bounds: (u32, u32), codes: Codes, shape: &Shape, value: &Value, place: &Place<'_>) {
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        if length < bounds.0 {
            self.wrong(codes.0, shape, value, place);
        } else if length > bounds.1 {
            self.wrong(codes.1, shape, value, place);
        }
    }

    fn list(&mut self, list: &List, items: &[Value], place: &Place<'_>) {
        let role = if let Shape::Named(definition) = list.item { definition.role } else { Role::Part };
        let (mut ids, mut names) = (BTreeSet::new(), BTreeSet::new());
        for (at, item) in items.iter().enumerate().take(usize::try_from(list.max).unwrap_or(usize::MAX)) {
            let inner = place.item(at);
            if list.keys != Keys::None
                && let Some(id) = item.get("id").and_then(Value::as_str)
                && !ids.insert(id)
            {
                self.error(|| {
                    let message = format!("the id {} occurs more than once in {}", quoted(id), place.title());
                    inner.of(role, item).member("id").error("D004", message).fix("give it a unique id")
                });
            }
            if list.keys == Keys::IdAndName
                && let Some(name) = item.get("name").and_then(Value::as_str).map(str::trim)
                && !name.is_empty()
                && !names.insert(name)
            {
                self.warning(|| {
                    let message = format!("several nodes of the graph are named {}", quoted(name));
                    inner.of(role, item).member("name").warning("D010", message).fix("give it a unique name, because traces show it")
                });
            }
            self.check(&list.item, item, &inner);
        }
    }

    /// Checks the keys of a localized text, and that it covers the locales of the document.
    fn texts(&mut self, texts: &Map<String, Value>, place: &Place<'_>) {
        if !texts.contains_key("default") {
            self.missing("default", place);
        }
        for key in texts.keys() {
            let is_channel = key.strip_prefix("channel:").is_some_and(|it| !it.trim().is_empty());
            if key != "default" && !is_channel && !Pattern::Locale.fits(key) {
                self.error(|| {
                    let message = format!("the key {} is not a locale, a channel or 'default'", quoted(key));
                    place.member(key).error("D007", message).fix("write a language tag such as 'en' or 'en-US', or 'channel:' and a name")
                });
            }
        }
        if self.warnings >= MANY {
            return;
        }
        let has = |locale: &&str| texts.contains_key(*locale) || locale.split('-').next().is_some_and(|it| texts.contains_key(it));
        let missing: Vec<&str> = self.locales.iter().copied().filter(|it| !has(it)).collect();
        if !missing.is_empty() {
            self.warning(|| {
                let list = listed(missing.into_iter());
                place.warning("D008", format!("{} has no text for {list}", place.title())).fix(format!("add a text for {list}"))
            });
        }
    }

    fn tagged(&mut self, tagged: &Tagged, members: &Map<String, Value>, place: &Place<'_>) {
        let tag = members.get(tagged.tag);
        match tag {
            None => self.missing(tagged.tag, place),
            Some(Value::String(kind)) => {
                if let Some((_, fields)) = tagged.kinds.iter().find(|it| it.0 == kind) {
                    return self.object(Some(tagged.tag), &[tagged.common, fields], members, place);
                }
                let allowed: Vec<&str> = tagged.kinds.iter().map(|it| it.0).collect();
                self.unknown_value(kind, &allowed, &place.member(tagged.tag));
            }
            Some(other) => {
                self.error(|| {
                    let expected = one_of(tagged.kinds.iter().map(|it| it.0));
                    let place = place.member(tagged.tag);
                    let message = format!("{} must be {expected}, but is {}", place.title(), found(other));
                    place.error("D001", message).fix(format!("write {expected}"))
                });
            }
        }
        // The other members depend on the kind, which is unknown.
        self.fields(&[tagged.common], members, place);
    }

    fn object(&mut self, tag: Option<&str>, lists: &[&[Field]], members: &Map<String, Value>, place: &Place<'_>) {
        let names = || lists.iter().flat_map(|it| it.iter()).map(|it| it.name).chain(tag);
        for key in members.keys().filter(|key| names().all(|it| it != *key)) {
            self.warning(|| {
                let near = nearest(key, names().filter(|it| !members.contains_key(*it)));
                let fix = near.map_or("remove it, or leave it: it is preserved".to_owned(), |it| format!("rename it to '{it}'"));
                let message = format!("the member {} is unknown and has no effect", quoted(key));
                place.member(key).warning("D003", message).fix(fix)
            });
        }
        self.fields(lists, members, place);
    }

    fn fields(&mut self, lists: &[&[Field]], members: &Map<String, Value>, place: &Place<'_>) {
        for field in lists.iter().flat_map(|it| it.iter()) {
            match members.get(field.name) {
                Some(value) => self.check(&field.shape, value, &place.member(field.name)),
                None if field.is_required => self.missing(field.name, place),
                None => {}
            }
        }
    }

    fn missing(&mut self, name: &str, place: &Place<'_>) {
        self.error(|| place.error("D001", format!("'{name}' is missing from {}", place.title())).fix(format!("add '{name}'")));
    }
}

/// The length of a text in characters, or in bytes where these are within the bound already.
fn text_length(text: &str, max: u32) -> usize {
    if u32::try_from(text.len()).is_ok_and(|it| it <= max) { text.len() } else { text.chars().count() }
}

/// Whether a number is an integer that every JSON parser reads exactly.
fn is_integer(number: f64) -> bool {
    number.fract() == 0.0 && number.abs() <= WHOLE as f64
}

/// Whether a value has the JSON type of a shape.
fn takes(shape: &Shape, value: &Value) -> bool {
    match shape {
        Shape::Any => true,
        Shape::Bool => value.is_boolean(),
        Shape::Text(..) | Shape::Spelt(_) | Shape::Const(..) | Shape::Enum(_) => value.is_string(),
        Shape::Integer(..) | Shape::Number(..) => value.is_number(),
        Shape::List(_) => value.is_array(),
        Shape::Free | Shape::Map(_) | Shape::Texts(_) | Shape::Object(_) | Shape::Tagged(_) => value.is_object(),
        Shape::AnyOf(shapes) => shapes.iter().any(|it| takes(it, value)),
        Shape::Coded(coded) => takes(&coded.shape, value),
        Shape::Named(definition) => takes(&definition.shape, value),
    }
}
