//! What a conversation is, whatever runs it: its program, owner, status and newest turn. Searches them for the operator API.

use convengine_core::turn::Millis;
use serde::Serialize;

use super::assistant::ProgramKey;
use super::database::Pool;
use super::database_row::DatabaseRow;
use super::statement::{SqlValue, Statement};
use convengine_host_base::clock;

/// A conversation filter. Absent members match everything; text comparisons ignore case.
#[derive(Debug, Clone, Default)]
pub struct ConversationFilter {
    /// The status: `RUNNING`, `BLOCKED`, …, or that of a session or run, such as `active`.
    pub status: Option<String>,
    /// The intent code.
    pub intent: Option<String>,
    /// The state code.
    pub state: Option<String>,
    /// A substring of the last user message.
    pub text: Option<String>,
    /// The earliest time of the last turn, inclusive.
    pub from: Option<Millis>,
    /// The latest time of the last turn, exclusive.
    pub to: Option<Millis>,
    /// Whether any turn has failed or was lost.
    pub has_faults: Option<bool>,
    /// The page cursor: time and id of the last conversation of the previous page.
    pub cursor: Option<(Millis, String)>,
    /// The page size.
    pub limit: i64,
}

/// A conversation in the operator's list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversationSummary {
    /// The conversation.
    pub conversation_id: String,
    /// What runs it: `tables`, `assistant`, `workflow`, `chain` or `agent`.
    pub program: &'static str,
    /// The id of its document; absent for tables.
    pub document: Option<String>,
    /// SHA-256 of the caller that it belongs to, if any.
    pub owner: Option<String>,
    /// `RUNNING`, `BLOCKED`, …; that of the session or run if it is one.
    pub status: String,
    /// The intent.
    pub intent: String,
    /// The state.
    pub state: String,
    /// The last user message.
    pub last_user_text: Option<String>,
    /// ISO 8601 with `Z`.
    pub created_at: String,
    /// Time of the last turn, ISO 8601 with `Z`.
    pub updated_at: String,
    /// The number of turns.
    pub turns: i64,
    /// The number of turns that failed or were lost.
    pub faults: i64,
    /// The sort key.
    #[serde(skip)]
    pub updated_at_ms: Millis,
}

/// Returns matching conversations, most recently updated first.
pub async fn find(pool: &Pool, filter: &ConversationFilter) -> sqlx::Result<Vec<ConversationSummary>> {
    // The original engine stored timestamps as numbers or text. Faults are looked up in `ce_turn` only, which the original does not have.
    let sql = Statement::per_dialect(
        "select conversation_id, program, owner, status, intent_code, state_code, last_user_text, cast(created_at as text) as created_at, at,
           (select count(*) from ce_turn t where t.conversation_id = c.conversation_id) as turns,
           (select count(*) from ce_turn t where t.conversation_id = c.conversation_id and (t.fault is not null or t.status = 'lost'))
             as faults
         from (select c.conversation_id, s.assistant_id as program, o.owner, coalesce(s.status, c.status) as status, c.intent_code,
             c.state_code, c.last_user_text, c.created_at,
             max(cast(case typeof(c.updated_at) when 'text' then round((julianday(c.updated_at) - 2440587.5) * 86400000.0)
               else c.updated_at end as integer), coalesce(s.updated_at, 0), coalesce((select max(t.closed_at) from ce_turn t
                 where t.conversation_id = c.conversation_id and t.fault is not null), 0)) as at
           from ce_conversation c left join cs_session s on s.session_id = c.conversation_id
             left join cv_conversation_owner o on o.conversation_id = c.conversation_id) c
         where ($1 is null or upper(status) = upper($1)) and ($2 is null or upper(intent_code) = upper($2))
           and ($3 is null or upper(state_code) = upper($3)) and ($4 is null or instr(lower(last_user_text), lower($4)) > 0)
           and at >= $5 and at < $6 and ($7 = 0 or ($7 = 1) = exists (select 1 from ce_turn t
             where t.conversation_id = c.conversation_id and (t.fault is not null or t.status = 'lost')))
           and (at < $8 or at = $8 and conversation_id > $9)
         order by at desc, conversation_id limit $10",
        "select conversation_id::text, program, owner, status, intent_code, state_code, last_user_text,
           (extract(epoch from created_at) * 1000)::bigint::text as created_at, at,
           (select count(*) from ce_turn t where t.conversation_id = c.conversation_id) as turns,
           (select count(*) from ce_turn t where t.conversation_id = c.conversation_id and (t.fault is not null or t.status = 'lost'))
             as faults
         from (select c.conversation_id, s.assistant_id as program, o.owner, coalesce(s.status, c.status) as status, c.intent_code,
             c.state_code, c.last_user_text, c.created_at,
             greatest(floor(extract(epoch from c.updated_at) * 1000)::bigint, s.updated_at,
               (select floor(extract(epoch from max(t.closed_at)) * 1000)::bigint from ce_turn t
                 where t.conversation_id = c.conversation_id and t.fault is not null)) as at
           from ce_conversation c left join cs_session s on s.session_id = c.conversation_id
             left join cv_conversation_owner o on o.conversation_id = c.conversation_id) c
         where ($1::text is null or upper(status) = upper($1)) and ($2::text is null or upper(intent_code) = upper($2))
           and ($3::text is null or upper(state_code) = upper($3)) and ($4::text is null or strpos(lower(last_user_text), lower($4)) > 0)
           and at >= $5 and at < $6 and ($7::bigint = 0 or ($7::bigint = 1) = exists (select 1 from ce_turn t
             where t.conversation_id = c.conversation_id and (t.fault is not null or t.status = 'lost')))
           and (at < $8 or at = $8 and conversation_id::text collate \"C\" > $9)
         order by at desc, conversation_id::text collate \"C\" limit $10",
    );
    let faults = match filter.has_faults {
        None => 0,
        Some(true) => 1,
        Some(false) => 2,
    };
    let (at, id) = filter.cursor.as_ref().map_or((Millis::MAX, ""), |it| (it.0, it.1.as_str()));
    let values = [
        SqlValue::OptionalText(filter.status.as_deref()),
        SqlValue::OptionalText(filter.intent.as_deref()),
        SqlValue::OptionalText(filter.state.as_deref()),
        SqlValue::OptionalText(filter.text.as_deref()),
        SqlValue::Integer(filter.from.unwrap_or(Millis::MIN)),
        SqlValue::Integer(filter.to.unwrap_or(Millis::MAX)),
        SqlValue::Integer(faults),
        SqlValue::Integer(at),
        SqlValue::Text(id),
        SqlValue::Integer(filter.limit),
    ];
    pool.fetch_all(&sql, &values).await?.iter().map(summary_from_row).collect()
}

fn summary_from_row(row: &DatabaseRow) -> sqlx::Result<ConversationSummary> {
    let created = row.text("created_at")?;
    let at = row.integer("at")?;
    let document = row.optional_text("program")?.as_deref().map(ProgramKey::parse);
    Ok(ConversationSummary {
        conversation_id: row.text("conversation_id")?,
        program: document.as_ref().map_or("tables", |key| key.kind().name()),
        document: document.map(|key| key.id().to_owned()),
        owner: row.optional_text("owner")?,
        status: row.text("status")?,
        intent: row.text("intent_code")?,
        state: row.text("state_code")?,
        last_user_text: row.optional_text("last_user_text")?,
        created_at: clock::parse(&created).map_or(created, clock::format_iso),
        updated_at: clock::format_iso(at),
        turns: row.integer("turns")?,
        faults: row.integer("faults")?,
        updated_at_ms: at,
    })
}

#[cfg(test)]
mod tests {
    use convengine_core::turn::ConversationRow;

    use super::*;
    use crate::call_log::CallLogColumns;
    use crate::commit;
    use crate::testing::each_database;
    use crate::turn_rows::TurnRows;
    use std::sync::Arc;

    fn id(number: usize) -> String {
        format!("5d0f3c1a-7a55-4a1e-9b61-1f0f3c8a00{number:02}")
    }

    #[tokio::test]
    async fn each_filter_selects_its_matches_and_pages_continue() {
        for mut database in each_database().await {
            let mut rows = TurnRows::default();
            for number in 0..6_usize {
                rows.add_conversation(&ConversationRow {
                    conversation_id: id(number),
                    status: if number == 5 { "BLOCKED" } else { "RUNNING" }.to_owned(),
                    intent_code: if number < 2 { "LOAN" } else { "CARD" }.to_owned(),
                    state_code: "ASK".to_owned(),
                    context: Arc::default(),
                    last_user_text: Some(format!("Message {number}")),
                    last_assistant: None,
                    params: Arc::default(),
                    created_at: 1,
                    // Two rows share a time.
                    updated_at: [10, 20, 20, 30, 40, 50][number],
                });
            }
            commit::write(&mut database.connection, &rows, CallLogColumns::Plain).await.expect("conversations");
            let all = ConversationFilter { limit: 10, ..ConversationFilter::default() };
            let ids = async |filter: ConversationFilter| {
                let found = find(&database.pool, &filter).await.expect("conversations");
                found.iter().map(|conversation| conversation.conversation_id.clone()).collect::<Vec<_>>()
            };
            let ids_of = |numbers: &[usize]| numbers.iter().map(|number| id(*number)).collect::<Vec<_>>();
            assert_eq!(ids(all.clone()).await, ids_of(&[5, 4, 3, 1, 2, 0]));
            assert_eq!(ids(ConversationFilter { status: Some("blocked".into()), ..all.clone() }).await, ids_of(&[5]));
            assert_eq!(
                ids(ConversationFilter { intent: Some("loan".into()), state: Some("ask".into()), ..all.clone() }).await,
                ids_of(&[1, 0])
            );
            assert_eq!(ids(ConversationFilter { text: Some("message 3".into()), ..all.clone() }).await, ids_of(&[3]));
            assert_eq!(ids(ConversationFilter { from: Some(20), to: Some(40), ..all.clone() }).await, ids_of(&[3, 1, 2]));
            assert_eq!(ids(ConversationFilter { has_faults: Some(true), ..all.clone() }).await, [""; 0]);
            assert_eq!(ids(ConversationFilter { has_faults: Some(false), limit: 2, ..all.clone() }).await, ids_of(&[5, 4]));
            assert_eq!(ids(ConversationFilter { cursor: Some((20, id(1))), ..all.clone() }).await, ids_of(&[2, 0]));
        }
    }
}
