//! User feedback on replies, and the rows it produces. (docs/spec/data-and-api.md#9.3)

use std::collections::BTreeSet;

use convengine_core::turn::{ConversationRow, Map};
use serde_json::{Value, json};

use convengine_storage::feedback::{FailureRow, FeedbackRow, KnowledgeRow};

/// The tool whose queries are stored as knowledge.
const QUERY_TOOL: &str = "db.semantic.query";

/// Feedback on a reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Feedback {
    /// The conversation, a UUID in lower case.
    pub conversation: String,
    /// Whether the rating is positive.
    pub is_positive: bool,
    /// The client's id of the reply.
    pub message_id: Option<String>,
    /// The reply as displayed by the client.
    pub answer: Option<String>,
    /// Further client data.
    pub metadata: Map,
}

impl Feedback {
    /// `THUMBS_UP` or `THUMBS_DOWN`.
    pub fn kind(&self) -> &'static str {
        if self.is_positive { "THUMBS_UP" } else { "THUMBS_DOWN" }
    }

    /// Returns the feedback row.
    pub fn to_row<'f>(&'f self, conversation: &'f ConversationRow) -> FeedbackRow<'f> {
        FeedbackRow {
            kind: self.kind(),
            message_id: non_blank(self.message_id.as_deref()),
            query: non_blank(conversation.last_user_text.as_deref()),
            answer: self.answer_text(conversation),
            tool: observations(conversation).last().and_then(|observation| observation.get("toolCode")?.as_str()),
            metadata: Value::Object(self.metadata.clone()).to_string(),
        }
    }

    /// Returns the failure row of a negative rating of an answered question.
    pub fn to_failure_row<'f>(&'f self, conversation: &'f ConversationRow) -> Option<FailureRow<'f>> {
        let question = non_blank(conversation.last_user_text.as_deref()).filter(|_| !self.is_positive)?;
        let member = |names: &[&str]| names.iter().find_map(|name| non_blank(self.metadata.get(*name)?.as_str()));
        Some(FailureRow {
            question,
            generated: member(&["wrong_sql", "wrongSql"])
                .map(str::to_owned)
                .or_else(|| observations(conversation).last().and_then(find_sql)),
            corrected: member(&["correct_sql", "correctSql"]),
            cause: member(&["root_cause", "rootCause"]).unwrap_or("USER_FEEDBACK"),
            reason: member(&["reason"]).map(str::to_owned).or_else(|| self.answer_text(conversation)),
        })
    }

    /// Returns the distinct queries executed by the conversation's tools.
    pub fn to_knowledge_rows(&self, conversation: &ConversationRow) -> Vec<KnowledgeRow> {
        let mut seen = BTreeSet::new();
        let mut rows = Vec::new();
        for observation in observations(conversation) {
            let Some(tool) = observation.get("toolCode").and_then(Value::as_str) else { continue };
            if !tool.trim().eq_ignore_ascii_case(QUERY_TOOL) {
                continue;
            }
            let answer = parse_result(observation);
            let summary = first_text(&answer, &["summary"]);
            let query = non_blank(conversation.last_user_text.as_deref()).map(str::to_owned).or_else(|| summary.clone());
            let query = query.unwrap_or_else(|| "semantic query".to_owned());
            let described = summary.or_else(|| first_text(&answer, &["message"]));
            let description = described.unwrap_or_else(|| format!("{tool} was asked, and the answer was called {}", self.kind()));
            let sql = find_sql(observation);
            if seen.insert(format!("{tool}|{query}|{}", sql.as_deref().unwrap_or_default()).to_lowercase()) {
                rows.push(KnowledgeRow { tool: tool.to_owned(), query, description, sql, observation: observation.clone() });
            }
        }
        rows
    }

    fn answer_text(&self, conversation: &ConversationRow) -> Option<String> {
        let given = non_blank(self.answer.as_deref()).map(str::to_owned);
        given.or_else(|| {
            let stored = non_blank(conversation.last_assistant.as_deref())?;
            let value = serde_json::from_str::<Value>(stored).ok().and_then(|it| first_text(&it, &["value"]));
            Some(value.unwrap_or_else(|| stored.to_owned()))
        })
    }
}

fn observations(conversation: &ConversationRow) -> &[Value] {
    conversation.context.get("mcp").and_then(|mcp| mcp.get("observations")?.as_array()).map_or(&[], Vec::as_slice)
}

/// Returns the result of a tool call; some tools return JSON as text.
fn parse_result(observation: &Value) -> Value {
    match observation.get("json") {
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_default(),
        Some(other) => other.clone(),
        None => Value::Null,
    }
}

fn find_sql(observation: &Value) -> Option<String> {
    let answer = parse_result(observation);
    first_text(answer.get("_db").unwrap_or(&Value::Null), &["sql"]).or_else(|| first_text(&answer, &["compiledSql", "sql", "preparedSql"]))
}

fn first_text(value: &Value, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| non_blank(value.get(*name)?.as_str())).map(str::to_owned)
}

fn non_blank(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|it| !it.is_empty())
}

/// Returns the metadata of a failure row or knowledge row as JSON text.
pub fn render_metadata(feedback: &Feedback, number: i64, conversation: &ConversationRow, knowledge: Option<&KnowledgeRow>) -> String {
    let Some(knowledge) = knowledge else {
        let message = non_blank(feedback.message_id.as_deref());
        return json!({"feedbackId": number, "feedbackType": feedback.kind(), "messageId": message}).to_string();
    };
    json!({
        "source": "semantic-query",
        "feedbackId": number,
        "intent": conversation.intent_code,
        "state": conversation.state_code,
        "feedbackType": feedback.kind(),
        "toolCode": knowledge.tool,
        "observation": knowledge.observation,
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn conversation_row(context: Value) -> ConversationRow {
        ConversationRow {
            conversation_id: "c".to_owned(),
            status: "RUNNING".to_owned(),
            intent_code: "A".to_owned(),
            state_code: "B".to_owned(),
            context: Arc::new(convengine_core::json::into_members(context)),
            last_user_text: Some(" how many? ".to_owned()),
            last_assistant: Some(r#"{"type":"TEXT","value":"seven"}"#.to_owned()),
            params: Arc::default(),
            created_at: 1,
            updated_at: 1,
        }
    }

    fn feedback(good: bool, metadata: Value) -> Feedback {
        let metadata = convengine_core::json::into_members(metadata);
        Feedback { conversation: "c".to_owned(), is_positive: good, message_id: Some(" ".to_owned()), answer: None, metadata }
    }

    #[test]
    fn blank_texts_are_omitted_and_the_answer_is_found() {
        let row_of = |it: &Feedback, about: &ConversationRow| {
            let row = it.to_row(about);
            (row.message_id.map(str::to_owned), row.query.map(str::to_owned), row.answer, row.tool.map(str::to_owned))
        };
        let mut given = feedback(true, json!({}));
        let seen = conversation_row(json!({"mcp": {"observations": [{"toolCode": "a"}, {"toolCode": "b"}]}}));
        assert_eq!(row_of(&given, &seen), (None, Some("how many?".to_owned()), Some("seven".to_owned()), Some("b".to_owned())));
        given.answer = Some(" eight ".to_owned());
        assert_eq!(given.to_row(&seen).answer.as_deref(), Some("eight"));
        given.answer = None;
        let plain = ConversationRow { last_assistant: Some("not JSON".to_owned()), ..conversation_row(json!({})) };
        assert_eq!((given.to_row(&plain).answer, given.to_row(&plain).tool), (Some("not JSON".to_owned()), None));
    }

    #[test]
    fn a_negative_rating_of_an_answered_question_is_a_failure() {
        let seen = conversation_row(json!({"mcp": {"observations": [{"toolCode": "t", "json": "{\"_db\":{\"sql\":\"select 1\"}}"}]}}));
        assert_eq!(feedback(true, json!({})).to_failure_row(&seen), None);
        let bad = feedback(false, json!({"correctSql": "select 2", "root_cause": "JOIN"}));
        let failure = bad.to_failure_row(&seen).expect("a failure");
        assert_eq!((failure.generated.as_deref(), failure.corrected, failure.cause), (Some("select 1"), Some("select 2"), "JOIN"));
        assert_eq!(failure.reason.as_deref(), Some("seven"));
        let with_query = feedback(false, json!({"wrong_sql": "select 3", "reason": "no"}));
        let failure = with_query.to_failure_row(&seen).expect("a failure");
        assert_eq!(
            (failure.generated.as_deref(), failure.cause, failure.reason.as_deref()),
            (Some("select 3"), "USER_FEEDBACK", Some("no"))
        );
        let silent = ConversationRow { last_user_text: None, ..seen };
        assert_eq!(bad.to_failure_row(&silent), None);
    }

    #[test]
    fn queries_are_stored_once() {
        let query = |sql: &str| json!({"toolCode": "DB.semantic.query", "json": {"summary": "found 7", "sql": sql}});
        let seen = conversation_row(
            json!({"mcp": {"observations": [query("select 1"), {"toolCode": "other", "json": {}}, query("SELECT 1"), query("x")]}}),
        );
        let rows = feedback(true, json!({})).to_knowledge_rows(&seen);
        assert_eq!(rows.iter().map(|it| it.sql.as_deref()).collect::<Vec<_>>(), [Some("select 1"), Some("x")]);
        assert_eq!((rows[0].query.as_str(), rows[0].description.as_str()), ("how many?", "found 7"));
    }
}
