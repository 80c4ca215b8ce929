//! Paths into an expectation, such as `json.context.mcp`, `audit.RULE_MATCH (RulesStep)#2.context`, `llm[0].prompt` or `history.last`.
//!
//! A row of the audit is named as in the list of differences: by its stage, and by its number if it is not the first of its stage; the
//! path goes on in its payload. `*` is every member, item or row, `STAGE#*` every row of a stage. `(name)` and `(name=text&…)` stand for
//! an object with these members, or in a list for the items that have them.

use serde_json::Value;

/// One step from a value to a value in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Member(String),
    Item(usize),
}

/// The steps from the root of an expectation. The last one may lead to a member that is missing.
pub(super) type Place = Vec<Step>;

/// What the path of an audit row alone means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowPart {
    Row,
    Payload,
}

enum Segment<'p> {
    Name(&'p str),
    Item(usize),
    Filter(&'p str),
}

/// Returns the names of the audit rows: the stage, and the number if it is not the first of its stage.
pub(super) fn row_names(expect: &Value) -> Vec<String> {
    let rows = expect["audit"].as_array().map_or(&[][..], Vec::as_slice);
    let stage = |row: &Value| row["stage"].as_str().unwrap_or_default().to_owned();
    let stages: Vec<String> = rows.iter().map(stage).collect();
    let name = |(at, stage): (usize, &String)| match stages[..at].iter().filter(|other| *other == stage).count() {
        0 => stage.clone(),
        before => format!("{stage}#{}", before + 1),
    };
    stages.iter().enumerate().map(name).collect()
}

/// Returns the places of a path.
pub(super) fn places(expect: &Value, path: &str, part: RowPart) -> Vec<Place> {
    let Some(row) = path.strip_prefix("audit.") else {
        let mut found = Vec::new();
        descend(expect, &segments(path), &mut Vec::new(), &mut found);
        return found;
    };
    let mut found = Vec::new();
    for (at, name) in row_names(expect).iter().enumerate() {
        let Some(rest) = after_row(row, name) else { continue };
        let mut place = vec![Step::Member("audit".to_owned()), Step::Item(at)];
        if rest.is_empty() && part == RowPart::Row {
            found.push(place);
            continue;
        }
        place.push(Step::Member("payload".to_owned()));
        match (rest.strip_prefix('.'), expect["audit"][at].get("payload")) {
            (Some(rest), Some(payload)) => descend(payload, &segments(rest), &mut place, &mut found),
            (Some(_), None) => {}
            (None, _) => found.push(place),
        }
    }
    found
}

/// Returns the path below an audit row, if the path is one of this row.
fn after_row<'p>(path: &'p str, name: &str) -> Option<&'p str> {
    let stage = name.split_once('#').map_or(name, |it| it.0);
    let rest = path
        .strip_prefix('*')
        .or_else(|| path.strip_prefix(&format!("{stage}#*")))
        .or_else(|| path.strip_prefix(name).filter(|rest| !rest.starts_with('#')));
    rest.filter(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn segments(path: &str) -> Vec<Segment<'_>> {
    let mut found = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some((filter, after)) = rest.strip_prefix('(').and_then(|it| it.split_once(')')) {
            found.push(Segment::Filter(filter));
            rest = after;
        } else if let Some((item, after)) = rest.strip_prefix('[').and_then(|it| it.split_once(']')) {
            found.push(item.parse().map_or(Segment::Name(item), Segment::Item));
            rest = after;
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            found.push(Segment::Name(&rest[..end]));
            rest = &rest[end..];
        }
        rest = rest.strip_prefix('.').unwrap_or(rest);
    }
    found
}

fn descend(value: &Value, path: &[Segment], place: &mut Place, found: &mut Vec<Place>) {
    let Some((segment, rest)) = path.split_first() else { return found.push(place.clone()) };
    for step in steps(value, segment) {
        let Some(step) = step else {
            // A filter that fits the value itself.
            descend(value, rest, place, found);
            continue;
        };
        let next = get_step(value, &step);
        place.push(step);
        match next {
            Some(next) => descend(next, rest, place, found),
            None if rest.is_empty() => found.push(place.clone()),
            None => {}
        }
        place.pop();
    }
}

/// Returns the steps that a segment stands for; `None` is the value itself.
fn steps(value: &Value, segment: &Segment) -> Vec<Option<Step>> {
    let member = |name: &str| Some(Step::Member(name.to_owned()));
    let item = |index: usize| Some(Step::Item(index));
    match (value, segment) {
        (Value::Object(_), Segment::Filter(filter)) => {
            if fits(value, filter) {
                vec![None]
            } else {
                Vec::new()
            }
        }
        (Value::Array(items), Segment::Filter(filter)) => {
            items.iter().enumerate().filter(|it| fits(it.1, filter)).map(|it| item(it.0)).collect()
        }
        (Value::Object(members), Segment::Name("*")) => members.keys().map(|it| member(it)).collect(),
        (Value::Object(_), Segment::Name(name)) => vec![member(name)],
        (Value::Array(items), Segment::Name("*")) => (0..items.len()).map(item).collect(),
        (Value::Array(items), Segment::Name("last")) => items.len().checked_sub(1).map(item).into_iter().collect(),
        (Value::Array(items), Segment::Name(name)) => items.iter().position(|it| it == name).map(item).into_iter().collect(),
        (Value::Array(items), Segment::Item(at)) if *at < items.len() => vec![item(*at)],
        _ => Vec::new(),
    }
}

fn fits(value: &Value, filter: &str) -> bool {
    filter.split('&').all(|condition| {
        let (name, text) = condition.split_once('=').map_or((condition, None), |(name, text)| (name, Some(text)));
        let print = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        value.get(name).is_some_and(|value| text.is_none_or(|text| print(value) == text))
    })
}

fn get_step<'v>(value: &'v Value, step: &Step) -> Option<&'v Value> {
    match step {
        Step::Member(name) => value.get(name),
        Step::Item(at) => value.get(at),
    }
}

/// Returns the value at a place.
pub(super) fn get<'v>(root: &'v Value, place: &[Step]) -> Option<&'v Value> {
    place.iter().try_fold(root, get_step)
}

/// Returns the value at a place.
pub(super) fn get_mut<'v>(root: &'v mut Value, place: &[Step]) -> Option<&'v mut Value> {
    place.iter().try_fold(root, |value, step| match step {
        Step::Member(name) => value.get_mut(name),
        Step::Item(at) => value.get_mut(at),
    })
}

/// Puts a value at a place, whose parent exists.
pub(super) fn put(root: &mut Value, place: &[Step], new: Value) {
    let Some((step, parent)) = place.split_last() else { return };
    match (get_mut(root, parent), step) {
        (Some(Value::Object(members)), Step::Member(name)) => drop(members.insert(name.clone(), new)),
        (Some(Value::Array(items)), Step::Item(at)) if *at < items.len() => items[*at] = new,
        _ => {}
    }
}

/// Removes the value at a place.
pub(super) fn remove(root: &mut Value, place: &[Step]) {
    let Some((step, parent)) = place.split_last() else { return };
    match (get_mut(root, parent), step) {
        (Some(Value::Object(members)), Step::Member(name)) => drop(members.shift_remove(name)),
        (Some(Value::Array(items)), Step::Item(at)) if *at < items.len() => drop(items.remove(*at)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn found(path: &str, part: RowPart) -> Vec<Value> {
        let row = |stage: &str, payload: Value| json!({"stage": stage, "payload": payload});
        let expect = json!({
            "json": {"a": {"b": 1, "c": 2}},
            "audit": [row("S (x.y)", json!({"k": 1})), row("T", json!({"k": 2})), row("S (x.y)", json!({"k": 3}))],
            "steps": ["A", "B"],
            "verbose": [{"level": "INFO", "id": 1}, {"level": "ERROR", "id": 2}],
        });
        places(&expect, path, part).iter().map(|place| get(&expect, place).cloned().unwrap_or(json!("missing"))).collect()
    }

    #[test]
    fn paths_lead_to_members_items_and_rows() {
        for (path, expected) in [
            ("json.a.b", json!([1])),
            ("json.a.x", json!(["missing"])),
            ("json.x.y", json!([])),
            ("json.a.*", json!([1, 2])),
            ("json.a.(c).b", json!([1])),
            ("json.a.(b=2).c", json!([])),
            ("json.(a).a.(b=1).c", json!([2])),
            ("steps.B", json!(["B"])),
            ("steps.last", json!(["B"])),
            ("steps[0]", json!(["A"])),
            ("verbose.(level=ERROR).id", json!([2])),
            ("verbose.(level=INFO&id=2).id", json!([])),
            ("audit.S (x.y).k", json!([1])),
            ("audit.S (x.y)#2.k", json!([3])),
            ("audit.S (x.y)#*.k", json!([1, 3])),
            ("audit.*.k", json!([1, 2, 3])),
            ("audit.T", json!([{"k": 2}])),
            ("audit.U", json!([])),
        ] {
            assert_eq!(json!(found(path, RowPart::Payload)), expected, "{path}");
        }
        assert_eq!(found("audit.T", RowPart::Row), [json!({"stage": "T", "payload": {"k": 2}})]);
    }
}
