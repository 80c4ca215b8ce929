//! `/v1`: assistants, workflows, chains and AI agents, their versions, deployments, tools, secrets, knowledge bases and sessions
//! (docs/spec/flows-http.md#1 to docs/spec/flows-http.md#3, docs/spec/workflows-http.md#2).

pub mod body;
pub mod chains;
pub mod deployment_tokens;
pub mod deployments;
pub mod desk;
pub mod document;
pub mod kind_routes;
pub mod knowledge;
pub mod routes;
pub mod runtime;
pub mod schemas;
pub mod secrets;
pub mod tools;

/// Parses a version number.
fn parse_version_number(text: &str) -> Option<i64> {
    text.parse().ok().filter(|number| *number > 0 && text.bytes().all(|it| it.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_numbers() {
        assert_eq!(["1", "12", "0", "+1", "-1", "x", ""].map(parse_version_number), [Some(1), Some(12), None, None, None, None, None]);
    }
}
