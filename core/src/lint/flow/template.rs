//! Single templates. (T001, T002, T004, T005, T007)

use super::ground::Ground;
use super::spot::{Kind, Read};
use crate::config::flow::DocumentIssue;

pub(super) fn check(context: &Ground<'_>, findings: &mut Vec<DocumentIssue>) {
    for (location, text) in context.texts() {
        let braces = match &text.read {
            // The structural check reports texts that are too long.
            Read::Braces(Err(error)) if error.code != "T006" => {
                findings.push(location.error(error.code, error.message.clone()).fix("correct the template"));
                continue;
            }
            Read::Braces(Ok(braces)) => braces,
            Read::Braces(Err(_)) | Read::Expr(_) | Read::Path(_) => continue,
        };
        if let Some(secret) = braces.secrets().first().filter(|_| !text.kind.takes_secrets()) {
            let message = format!("the secret '{secret}' is not available here: only requests of tools can use secrets");
            findings.push(location.clone().error("T004", message).fix("use it in a header of a request"));
        }
        if matches!(text.kind, Kind::Url | Kind::Query) && braces.uses_raw() {
            let message = "a value with the filter 'raw' can change the target of the request";
            findings.push(location.clone().warning("T005", message).fix("remove 'raw'"));
        }
        let is_json = text.kind == Kind::Whole && text.source.trim_start().starts_with(['{', '[']);
        if is_json && braces.leaves_unquoted() {
            let message = "a value can break the JSON text";
            findings.push(location.warning("T007", message).fix("write the body as an object, or end each placeholder with '| json'"));
        }
    }
}
