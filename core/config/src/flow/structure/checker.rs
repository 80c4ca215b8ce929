//! Checks values against shapes.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::super::issue::DocumentIssue;
use super::super::shape::{List, MAX_SAFE_INTEGER, MemberShape, NO_MAX, NO_MIN, Pattern, Role, Shape, TaggedUnion, UniqueBy};
use super::descriptions::{describe_shape, describe_value, join_quoted, nearest, one_of, quote};
use super::location::FormLocation;

/// The maximum number of reported issues of each severity.
const MAX_ISSUES: usize = 1000;

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
    pub fn new(source: &'v Value) -> Checker<'v> {
        let default_locale = source.get("default_locale").and_then(Value::as_str);
        let declared = source.get("locales").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let mut locales: Vec<&str> = Vec::new();
        // Bounds the work for a hostile document.
        for locale in declared.take(MAX_ISSUES).filter(|locale| Some(*locale) != default_locale && Pattern::Locale.matches(locale)) {
            if !locales.contains(&locale) {
                locales.push(locale);
            }
        }
        Checker { issues: Vec::new(), errors: 0, warnings: 0, locales }
    }

    /// Reports an error, up to the maximum.
    pub fn report_error(&mut self, issue: impl FnOnce() -> DocumentIssue) {
        self.errors += 1;
        if self.errors <= MAX_ISSUES {
            self.issues.push(issue());
        }
    }

    fn report_warning(&mut self, issue: impl FnOnce() -> DocumentIssue) {
        self.warnings += 1;
        if self.warnings <= MAX_ISSUES {
            self.issues.push(issue());
        }
    }

    /// Checks a value against a shape.
    pub fn check(&mut self, shape: &Shape, value: &Value, place: &FormLocation<'_>) {
        self.check_bounded(shape, value, place, ("D001", "D001"));
    }

    fn check_bounded(&mut self, shape: &Shape, value: &Value, place: &FormLocation<'_>, codes: Codes) {
        match shape {
            Shape::Any => {}
            Shape::AnyObject if value.is_object() => {}
            Shape::Bool if value.is_boolean() => {}
            Shape::AnyObject | Shape::Bool => self.report_mismatch("D001", shape, value, place),
            Shape::Text(min, max) => match value.as_str() {
                None => self.report_mismatch("D001", shape, value, place),
                Some(text) => self.check_length(text_length(text, *max), (*min, *max), codes, shape, value, place),
            },
            Shape::PatternText(pattern) => match value.as_str() {
                None => self.report_mismatch("D001", shape, value, place),
                Some(text) if pattern.matches(text) => {}
                Some(_) => self.report_mismatch(pattern.code(), shape, value, place),
            },
            Shape::Const(text, code) => match value.as_str() {
                None => self.report_mismatch("D001", shape, value, place),
                Some(found) if found == *text => {}
                Some(_) => self.report_mismatch(code, shape, value, place),
            },
            Shape::Enum(allowed) => match value.as_str() {
                None => self.report_mismatch("D001", shape, value, place),
                Some(text) if allowed.contains(&text) => {}
                Some(text) => self.report_unknown_value(text, allowed, place),
            },
            Shape::Integer(min, max) | Shape::Number(min, max) => {
                let is_whole = matches!(shape, Shape::Integer(..));
                match value.as_f64().filter(|number| !is_whole || is_integer(*number)) {
                    None => self.report_mismatch("D001", shape, value, place),
                    Some(number) if *min != NO_MIN && number < f64::from(*min) => self.report_mismatch(codes.0, shape, value, place),
                    Some(number) if *max != NO_MAX && number > f64::from(*max) => self.report_mismatch(codes.1, shape, value, place),
                    Some(_) => {}
                }
            }
            Shape::List(list) => match value.as_array() {
                None => self.report_mismatch("D001", shape, value, place),
                Some(items) => {
                    self.check_length(items.len(), (list.min, list.max), codes, shape, value, place);
                    self.check_items(list, items, place);
                }
            },
            Shape::Map(of) | Shape::LocalizedTexts(of) | Shape::PartialTexts(of) => match value.as_object() {
                None => self.report_mismatch("D001", shape, value, place),
                Some(members) => {
                    for (key, member) in members {
                        self.check(of, member, &place.member(key));
                    }
                    if !matches!(shape, Shape::Map(_)) {
                        self.check_texts(members, place, matches!(shape, Shape::PartialTexts(_)));
                    }
                }
            },
            Shape::Object(lists) => match value.as_object() {
                None => self.report_mismatch("D001", shape, value, place),
                Some(members) => self.check_object(None, lists, members, place),
            },
            Shape::ClosedObject(lists) => match value.as_object() {
                None => self.report_mismatch("D001", shape, value, place),
                Some(members) => self.check_closed_object(lists, members, place),
            },
            Shape::Union(tagged) => match value.as_object() {
                None => self.report_mismatch("D001", shape, value, place),
                Some(members) => self.check_tagged(tagged, members, place),
            },
            Shape::AnyOf(shapes) => match shapes.iter().find(|it| it.has_type_of(value)) {
                None => self.report_mismatch("D001", shape, value, place),
                Some(fitting) => self.check(fitting, value, place),
            },
            Shape::Bounded(coded) => self.check_bounded(&coded.shape, value, place, (coded.below, coded.above)),
            Shape::WithMeaning(inner) => self.check_bounded(&inner.shape, value, place, codes),
            Shape::Ref(definition) => self.check(&definition.shape, value, &place.with_owner(definition.role, value)),
        }
    }

    fn report_mismatch(&mut self, code: &'static str, shape: &Shape, value: &Value, place: &FormLocation<'_>) {
        self.report_error(|| {
            let expected = describe_shape(shape);
            place
                .error(code, format!("{} must be {expected}, but is {}", place.title(), describe_value(value)))
                .with_fix(format!("write {expected}"))
        });
    }

    fn report_unknown_value(&mut self, text: &str, allowed: &[&str], place: &FormLocation<'_>) {
        self.report_error(|| {
            let fix = match nearest(text, allowed.iter().copied()) {
                Some(near) => format!("write '{near}'"),
                None => format!("write {}", one_of(allowed.iter().copied())),
            };
            let message = format!("{} must be {}, but is {}", place.title(), one_of(allowed.iter().copied()), quote(text));
            place.error("D002", message).with_fix(fix)
        });
    }

    fn check_length(&mut self, length: usize, bounds: (u32, u32), codes: Codes, shape: &Shape, value: &Value, place: &FormLocation<'_>) {
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        if length < bounds.0 {
            self.report_mismatch(codes.0, shape, value, place);
        } else if length > bounds.1 {
            self.report_mismatch(codes.1, shape, value, place);
        }
    }

    fn check_items(&mut self, list: &List, items: &[Value], place: &FormLocation<'_>) {
        let role = if let Shape::Ref(definition) = list.item { definition.role } else { Role::Part };
        let (mut ids, mut names) = (BTreeSet::new(), BTreeSet::new());
        for (at, item) in items.iter().enumerate().take(usize::try_from(list.max).unwrap_or(usize::MAX)) {
            let inner = place.item(at);
            if list.keys != UniqueBy::None
                && let Some(id) = item.get("id").and_then(Value::as_str)
                && !ids.insert(id)
            {
                self.report_error(|| {
                    let message = format!("the id {} occurs more than once in {}", quote(id), place.title());
                    inner.with_owner(role, item).member("id").error("D004", message).with_fix("give it a unique id")
                });
            }
            if list.keys == UniqueBy::IdAndName
                && let Some(name) = item.get("name").and_then(Value::as_str).map(str::trim)
                && !name.is_empty()
                && !names.insert(name)
            {
                self.report_warning(|| {
                    let message = format!("several nodes of the graph are named {}", quote(name));
                    inner
                        .with_owner(role, item)
                        .member("name")
                        .warning("D010", message)
                        .with_fix("give it a unique name, because traces show it")
                });
            }
            self.check(&list.item, item, &inner);
        }
    }

    /// Checks the keys of a localized text, and that it covers the locales of the document unless it is partial.
    fn check_texts(&mut self, texts: &Map<String, Value>, place: &FormLocation<'_>, is_partial: bool) {
        if !is_partial && !texts.contains_key("default") {
            self.report_missing("default", place);
        }
        for key in texts.keys() {
            let is_channel = key.strip_prefix("channel:").is_some_and(|channel| !channel.trim().is_empty());
            if key != "default" && !is_channel && !Pattern::Locale.matches(key) {
                self.report_error(|| {
                    let message = format!("the key {} is not a locale, a channel or 'default'", quote(key));
                    place
                        .member(key)
                        .error("D007", message)
                        .with_fix("write a language tag such as 'en' or 'en-US', or 'channel:' followed by a name")
                });
            }
        }
        if is_partial || self.warnings >= MAX_ISSUES {
            return;
        }
        let has =
            |locale: &&str| texts.contains_key(*locale) || locale.split('-').next().is_some_and(|language| texts.contains_key(language));
        let missing: Vec<&str> = self.locales.iter().copied().filter(|it| !has(it)).collect();
        if !missing.is_empty() {
            self.report_warning(|| {
                let list = join_quoted(missing.into_iter());
                place.warning("D008", format!("{} has no text for {list}", place.title())).with_fix(format!("add a text for {list}"))
            });
        }
    }

    fn check_tagged(&mut self, tagged: &TaggedUnion, members: &Map<String, Value>, place: &FormLocation<'_>) {
        let tag = members.get(tagged.tag);
        match tag {
            None => self.report_missing(tagged.tag, place),
            Some(Value::String(kind)) => {
                if let Some(found) = tagged.kinds.iter().find(|it| it.name == kind) {
                    let lists: Vec<&[MemberShape]> = tagged.common.iter().chain(found.lists).copied().collect();
                    return self.check_object(Some(tagged.tag), &lists, members, place);
                }
                let allowed: Vec<&str> = tagged.kinds.iter().map(|it| it.name).collect();
                self.report_unknown_value(kind, &allowed, &place.member(tagged.tag));
            }
            Some(other) => {
                self.report_error(|| {
                    let expected = one_of(tagged.kinds.iter().map(|kind| kind.name));
                    let place = place.member(tagged.tag);
                    let message = format!("{} must be {expected}, but is {}", place.title(), describe_value(other));
                    place.error("D001", message).with_fix(format!("write {expected}"))
                });
            }
        }
        // The other members depend on the kind, which is unknown.
        self.check_fields(tagged.common, members, place);
    }

    fn check_object(&mut self, tag: Option<&str>, lists: &[&[MemberShape]], members: &Map<String, Value>, place: &FormLocation<'_>) {
        let names = || lists.iter().flat_map(|list| list.iter()).map(|member| member.name).chain(tag);
        for key in members.keys().filter(|key| names().all(|name| name != *key)) {
            self.report_warning(|| {
                let near = nearest(key, names().filter(|name| !members.contains_key(*name)));
                let fix = near.map_or("remove it, or leave it: it is preserved".to_owned(), |name| format!("rename it to '{name}'"));
                let message = format!("the member {} is unknown and has no effect", quote(key));
                place.member(key).warning("D003", message).with_fix(fix)
            });
        }
        self.check_fields(lists, members, place);
    }

    fn check_closed_object(&mut self, lists: &[&[MemberShape]], members: &Map<String, Value>, place: &FormLocation<'_>) {
        let names = || lists.iter().flat_map(|list| list.iter()).map(|member| member.name);
        for key in members.keys().filter(|key| names().all(|name| name != *key)) {
            self.report_error(|| {
                let fix = match nearest(key, names().filter(|name| !members.contains_key(*name))) {
                    Some(near) => format!("rename it to '{near}'; the members are {}", join_quoted(names())),
                    None => format!("use {}", one_of(names())),
                };
                place.member(key).error("D002", format!("{} has no member {}", place.title(), quote(key))).with_fix(fix)
            });
        }
        self.check_fields(lists, members, place);
    }

    fn check_fields(&mut self, lists: &[&[MemberShape]], members: &Map<String, Value>, place: &FormLocation<'_>) {
        for field in lists.iter().flat_map(|it| it.iter()) {
            match members.get(field.name) {
                Some(value) => self.check(&field.shape, value, &place.member(field.name)),
                None if field.is_required => self.report_missing(field.name, place),
                None => {}
            }
        }
    }

    fn report_missing(&mut self, name: &str, place: &FormLocation<'_>) {
        self.report_error(|| place.error("D001", format!("'{name}' is missing from {}", place.title())).with_fix(format!("add '{name}'")));
    }
}

/// The length of a text in characters, or in bytes where these are within the bound already.
fn text_length(text: &str, max: u32) -> usize {
    if u32::try_from(text.len()).is_ok_and(|it| it <= max) { text.len() } else { text.chars().count() }
}

/// Whether a number is an integer that every JSON parser reads exactly.
fn is_integer(number: f64) -> bool {
    number.fract() == 0.0 && number.abs() <= MAX_SAFE_INTEGER as f64
}
