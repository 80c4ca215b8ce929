//! Single templates. (T001, T002, T004, T005, T007)

use convengine_config::flow::DocumentIssue;

use super::context::{FlowContext, Location};
use super::source_text::{ParsedText, SourceText, TextKind};

pub(super) fn check(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    for (location, text) in context.all_texts() {
        check_text(&location, text, findings);
    }
}

/// Checks a template; other texts pass.
pub(super) fn check_text(location: &Location, text: &SourceText<'_>, findings: &mut Vec<DocumentIssue>) {
    let braces = match &text.parsed {
        // The structural check reports texts that are too long.
        ParsedText::Interpolation(Err(error)) if error.code != "T006" => {
            findings.push(location.clone().error(error.code, error.message.clone()).with_fix("correct the template"));
            return;
        }
        ParsedText::Interpolation(Ok(braces)) => braces,
        ParsedText::Interpolation(Err(_)) | ParsedText::Expr(_) | ParsedText::Path(_) => return,
    };
    if let Some(secret) = braces.secret_names().first().filter(|_| !text.kind.accepts_secrets()) {
        let message = format!("the secret '{secret}' is not available here: only requests of tools can use secrets");
        findings.push(location.clone().error("T004", message).with_fix("use it in a header of a request"));
    }
    if matches!(text.kind, TextKind::Url | TextKind::Query) && braces.has_raw_filter() {
        let message = "a value with the filter 'raw' can change the target of the request";
        findings.push(location.clone().warning("T005", message).with_fix("remove 'raw'"));
    }
    let is_json = text.kind == TextKind::TextBody && text.source.trim_start().starts_with(['{', '[']);
    if is_json && braces.has_unquoted_placeholder() {
        let message = "a value can break the JSON text";
        let fix = "write the body as an object, or end each placeholder with '| json'";
        findings.push(location.clone().warning("T007", message).with_fix(fix));
    }
}
