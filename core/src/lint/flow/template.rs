//! Templates by themselves. (T001, T002, T004, T005, T007)

use super::ground::Ground;
use super::spot::{Kind, Read};
use crate::config::flow::DocumentIssue;

pub(super) fn check(ground: &Ground<'_>, found: &mut Vec<DocumentIssue>) {
    for (place, spot) in ground.texts() {
        let braces = match &spot.read {
            // What is too long has been told of by the form.
            Read::Braces(Err(wrong)) if wrong.code != "T006" => {
                found.push(place.error(wrong.code, wrong.message.clone()).fix("correct the template"));
                continue;
            }
            Read::Braces(Ok(braces)) => braces,
            Read::Braces(Err(_)) | Read::Expr(_) | Read::Path(_) => continue,
        };
        if let Some(secret) = braces.secrets().first().filter(|_| !spot.kind.takes_secrets()) {
            let message = format!("the secret '{secret}' cannot stand here: secrets are put into the requests of tools alone");
            found.push(place.clone().error("T004", message).fix("name it in a header of a request"));
        }
        if matches!(spot.kind, Kind::Url | Kind::Query) && braces.uses_raw() {
            let message = "what is filled in with 'raw' can change where the request goes";
            found.push(place.clone().warning("T005", message).fix("leave 'raw' out"));
        }
        let is_json = spot.kind == Kind::Whole && spot.source.trim_start().starts_with(['{', '[']);
        if is_json && braces.leaves_unquoted() {
            let message = "what is filled in can break out of the JSON text";
            found.push(place.warning("T007", message).fix("give the body as an object, or end each hole with '| json'"));
        }
    }
}
