//! `If-Match` and `If-None-Match` of drafts, whose entity tag is their revision (RFC 9110, section 13.1).

use axum::http::{HeaderMap, HeaderName, StatusCode, header};

use convengine_access::api_error::ApiError;
use convengine_storage::assistant::draft::Expected;

/// The revision of no draft.
const NO_REVISION: i64 = i64::MAX;

/// The entity tag of a revision.
pub fn entity_tag(revision: i64) -> [(HeaderName, String); 1] {
    [(header::ETAG, format!("\"{revision}\""))]
}

/// Reads what a request expects of the draft that it changes.
///
/// # Errors
/// 400 `invalid_precondition` if a header has none of the supported forms.
pub fn read_expected(headers: &HeaderMap) -> Result<Expected, ApiError> {
    let invalid = |name: HeaderName, usage: &str| {
        let message = format!("{name} is not supported in this form; send {usage}");
        ApiError::bad_request(message).with_code("invalid_precondition")
    };
    let text = |name: &HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default().trim());
    match (text(&header::IF_MATCH), text(&header::IF_NONE_MATCH)) {
        (None, None) => Ok(Expected::Anything),
        (Some("*"), None) => Ok(Expected::Draft),
        (None, Some("*")) => Ok(Expected::Nothing),
        (Some(tags), None) => {
            let usage = "the ETag of the draft as it was read, such as \"3\", or *";
            expected_revision(tags).map(Expected::Revision).ok_or_else(|| invalid(header::IF_MATCH, usage))
        }
        (_, Some(_)) => Err(invalid(header::IF_NONE_MATCH, "* alone, to create the draft only if none exists")),
    }
}

/// The revision that a list of entity tags names, or [`NO_REVISION`]; `None` if it is no such list, or names several.
fn expected_revision(tags: &str) -> Option<i64> {
    let mut revisions = Vec::new();
    for tag in tags.split(',').map(str::trim) {
        let quoted = tag.strip_prefix("W/").unwrap_or(tag);
        let opaque = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).filter(|opaque| !opaque.contains('"'))?;
        // Tags are compared byte by byte, and a weak one never matches.
        let revision = opaque.parse::<i64>().ok().filter(|revision| *revision > 0 && revision.to_string() == opaque && quoted == tag);
        revisions.extend(revision);
    }
    match revisions.as_slice() {
        [] => Some(NO_REVISION),
        [revision] => Some(*revision),
        _ => None,
    }
}

/// The error for a draft that is not as expected.
pub fn precondition_failed() -> ApiError {
    let message =
        "draft is not as expected by If-Match or If-None-Match: somebody else saved it; read it again and apply the changes to it";
    ApiError::with_status(StatusCode::PRECONDITION_FAILED, message).with_code("draft_conflict")
}
