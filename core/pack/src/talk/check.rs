//! Parses lines with a mark: the expectations about a turn.

use super::super::{Check, PackCheck, PackError};
use super::line::{Line, parse_json};

/// The roots of paths: members of the response, and results of the turn.
pub(super) const ROOTS: [&str; 25] = [
    "conversationId",
    "intent",
    "state",
    "payload",
    "context",
    "success",
    "errorCode",
    "recoverable",
    "message",
    "status",
    "turn",
    "messages",
    "awaiting",
    "handoff",
    "debug",
    "run_id",
    "run",
    "error",
    "vars",
    "params",
    "session",
    "requests",
    "row",
    "calls",
    "audit",
];

/// Parses the rest of a line after its mark.
type ParseCheck = fn(&Line<'_>) -> Result<Check, PackError>;

/// Marks with their parsers. A mark comes before its own prefixes.
pub(super) const MARKS: [(&str, ParseCheck); 11] = [
    ("<~", |line| Ok(Check::ReplyContains(line.required("the text that the reply contains")?.to_owned()))),
    ("<", parse_reply),
    ("!", |line| Ok(Check::Fails(line.required("the error code")?.to_owned()))),
    ("=", parse_place),
    ("~!", |line| Ok(Check::NoStage(line.required("the stage")?.to_owned()))),
    ("~", |line| Ok(Check::Stages(parse_names(line, "a stage")?))),
    ("?!", parse_lacks),
    ("?", parse_path_check),
    ("%!", |line| Ok(Check::NoVerbose(line.required("the progress message")?.to_owned()))),
    ("%", |line| Ok(Check::Verbose(line.required("the progress message")?.to_owned()))),
    ("$", parse_calls),
];

/// Parses a check; `None` if the line has no mark.
pub(super) fn parse_check(line: &Line<'_>) -> Result<Option<PackCheck>, PackError> {
    let Some((rest, read)) = MARKS.iter().find_map(|(mark, read)| Some((line.strip_mark(mark)?, read))) else { return Ok(None) };
    Ok(Some(PackCheck { line: line.number, check: read(&rest)? }))
}

/// Adds a check. Replies on consecutive lines are one multi-line text.
pub(super) fn add_check(checks: &mut Vec<PackCheck>, next: PackCheck) {
    if let (Some(PackCheck { line, check: Check::Reply(text) }), Check::Reply(more)) = (checks.last_mut(), &next.check) {
        let lines = u32::try_from(text.split('\n').count()).unwrap_or(u32::MAX);
        if line.saturating_add(lines) == next.line {
            text.push('\n');
            text.push_str(more);
            return;
        }
    }
    checks.push(next);
}

fn parse_reply(line: &Line<'_>) -> Result<Check, PackError> {
    if line.text.starts_with(['{', '[']) {
        return Ok(Check::ReplyJson(parse_json(line, "write text that only looks like JSON as a JSON string")?));
    }
    if line.text.starts_with('"')
        && let Ok(text) = serde_json::from_str::<String>(line.text)
    {
        return Ok(Check::Reply(text));
    }
    Ok(Check::Reply(line.text.to_owned()))
}

fn parse_place(line: &Line<'_>) -> Result<Check, PackError> {
    let (intent, state) = line.split_once("/").ok_or_else(|| line.error("expected INTENT / STATE"))?;
    let code = |line: &Line<'_>, what: &str| {
        let (word, rest) = line.split_word();
        if !rest.text.is_empty() {
            return Err(rest.error(format!("{what} must be one word; remove the rest")));
        }
        word.required(what).map(str::to_owned)
    };
    Ok(Check::Place { intent: code(&intent, "the intent")?, state: code(&state, "the state")? })
}

fn parse_path_check(line: &Line<'_>) -> Result<Check, PackError> {
    let (at, sign) = [" = ", " ~ "].iter().filter_map(|sign| Some((line.text.find(sign)?, *sign))).min().unwrap_or((0, ""));
    let Some((path, value)) = (at > 0).then(|| line.split_once(sign)).flatten() else {
        return Err(line.error("expected path = JSON or path ~ text"));
    };
    let path = parse_path(&path)?;
    if sign == " ~ " {
        return Ok(Check::Contains { path, text: value.required("the text")?.to_owned() });
    }
    Ok(Check::Equals { path, value: parse_json(&value, "write the value as JSON, and a string in quotes")? })
}

fn parse_lacks(line: &Line<'_>) -> Result<Check, PackError> {
    let Some((path, text)) = line.split_once(" ~ ") else {
        line.required("the path")?;
        return Ok(Check::Absent(parse_path(line)?));
    };
    Ok(Check::Lacks { path: parse_path(&path)?, text: text.required("the text")?.to_owned() })
}

fn parse_path(path: &Line<'_>) -> Result<String, PackError> {
    let root = path.text.split('.').next().unwrap_or_default();
    if !ROOTS.contains(&root) {
        return Err(path.error(format!("unknown root '{root}' of the path; use one of {}", ROOTS.join(", "))));
    }
    Ok(path.text.to_owned())
}

fn parse_calls(line: &Line<'_>) -> Result<Check, PackError> {
    if line.text == "none" {
        return Ok(Check::Calls(Vec::new()));
    }
    Ok(Check::Calls(parse_names(line, "a call or 'none'")?))
}

fn parse_names(line: &Line<'_>, what: &str) -> Result<Vec<String>, PackError> {
    line.split_list().iter().map(|item| item.required(what).map(str::to_owned)).collect()
}
