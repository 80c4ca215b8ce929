//! The statements that write what a turn stores in `ce_` tables.

use super::rows::Column::{Bytes, Integer, Json, Text};
use super::rows::{Column, RowStatement};

/// Inserts a turn only if its predecessor exists: a turn that loaded a conversation deleted since is rejected.
pub(super) const INSERT_TURNS: [RowStatement; 1] = [RowStatement {
    sqlite: "insert into ce_turn (turn_id, conversation_id, number, status, protocol, engine, config_hash, journal, state_hash, reset,
           fault, answer, created_at, closed_at, total_ms, owner, lease_until, message_key, audit_id)
         select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,
           cast(unixepoch('subsec') * 1000 as integer) + $17, $18, $19
         where $3 = 1 or exists (select 1 from ce_turn p where p.conversation_id = $2 and p.number = $3 - 1)
         on conflict (turn_id) do nothing",
    postgres: "insert into ce_turn (turn_id, conversation_id, number, status, protocol, engine, config_hash, journal, state_hash, reset,
           fault, answer, created_at, closed_at, total_ms, owner, lease_until, message_key, audit_id)
         select r.turn_id::uuid, r.conversation_id::uuid, r.number, r.status, r.protocol, r.engine, r.config_hash, r.journal, r.state_hash,
           r.reset = 1, r.fault, r.answer, to_timestamp(r.created_at::float8 / 1000), to_timestamp(r.closed_at::float8 / 1000), r.total_ms,
           r.owner, now() + r.lease_ms::float8 * interval '1 millisecond', r.message_key, r.audit_id
         from unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::bytea[], $9::text[],
           $10::bigint[], $11::text[], $12::bytea[], $13::bigint[], $14::bigint[], $15::bigint[], $16::text[], $17::bigint[], $18::text[],
           $19::bigint[]) r (turn_id, conversation_id, number, status, protocol, engine, config_hash, journal, state_hash, reset, fault,
           answer, created_at, closed_at, total_ms, owner, lease_ms, message_key, audit_id)
         where r.number = 1 or exists (select 1 from ce_turn p
           where p.conversation_id = r.conversation_id::uuid and p.number = r.number - 1 for key share)
         on conflict (turn_id) do nothing",
    columns: TURN_COLUMNS,
}];

/// The columns of a turn; the last one is added when it is written.
const TURN_COLUMNS: &[Column] = &[
    Text, Text, Integer, Text, Integer, Text, Text, Bytes, Text, Integer, Text, Bytes, Integer, Integer, Integer, Text, Integer, Text,
    Integer,
];

pub(super) const CLOSE_TURNS: [RowStatement; 1] = [RowStatement {
    sqlite: "update ce_turn set status = $4, journal = $8, state_hash = $9, reset = $10, fault = $11, answer = $12, closed_at = $14,
           config_hash = $7, total_ms = $15, audit_id = $19, owner = null, lease_until = null
         where turn_id = $1 and status = 'open' and owner = $16",
    postgres:
        "update ce_turn t set status = r.status, journal = r.journal, state_hash = r.state_hash, reset = r.reset = 1, fault = r.fault,
           answer = r.answer, closed_at = to_timestamp(r.closed_at::float8 / 1000), config_hash = r.config_hash, total_ms = r.total_ms,
           audit_id = r.audit_id, owner = null, lease_until = null
         from unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::bytea[], $9::text[],
           $10::bigint[], $11::text[], $12::bytea[], $13::bigint[], $14::bigint[], $15::bigint[], $16::text[], $17::bigint[], $18::text[],
           $19::bigint[]) r (turn_id, conversation_id, number, status, protocol, engine, config_hash, journal, state_hash, reset, fault,
           answer, created_at, closed_at, total_ms, owner, lease_ms, message_key, audit_id)
         where t.turn_id = r.turn_id::uuid and t.status = 'open' and t.owner = r.owner",
    columns: TURN_COLUMNS,
}];

/// Only for a turn this owner still holds; the row lock prevents a takeover that would not see the effect.
pub(super) const UPSERT_EFFECTS: [RowStatement; 1] = [RowStatement {
    sqlite: "insert into ce_turn_effect (turn_id, effect_id, position, request_hash, outcome, at)
         select turn_id, $3, $4, '', $5, $6 from ce_turn where turn_id = $1 and status = 'open' and owner = $2
         on conflict (turn_id, effect_id) do update set position = excluded.position, outcome = excluded.outcome, at = excluded.at",
    postgres: "insert into ce_turn_effect (turn_id, effect_id, position, request_hash, outcome, at)
         select t.turn_id, r.effect_id, r.position, '', r.outcome, to_timestamp(r.at::float8 / 1000)
         from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[])
           r (turn_id, owner, effect_id, position, outcome, at)
         join ce_turn t on t.turn_id = r.turn_id::uuid and t.status = 'open' and t.owner = r.owner for share of t
         on conflict (turn_id, effect_id) do update set position = excluded.position, outcome = excluded.outcome, at = excluded.at",
    columns: &[Text, Text, Integer, Integer, Json, Integer],
}];

pub(super) const UPSERT_CONVERSATIONS: [RowStatement; 1] = [RowStatement {
    sqlite: "insert into ce_conversation (conversation_id, status, intent_code, state_code, context_json, input_params_json,
           last_user_text, last_assistant_json, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         on conflict (conversation_id) do update set status = excluded.status, intent_code = excluded.intent_code,
           state_code = excluded.state_code, context_json = excluded.context_json,
           input_params_json = excluded.input_params_json, last_user_text = excluded.last_user_text,
           last_assistant_json = excluded.last_assistant_json, updated_at = excluded.updated_at",
    postgres: "insert into ce_conversation (conversation_id, status, intent_code, state_code, context_json, input_params_json,
           last_user_text, last_assistant_json, created_at, updated_at)
         select r.id::uuid, r.status, r.intent, r.state, r.context::json, r.params::json, r.last_user, r.last_assistant::json,
           to_timestamp(r.created_at::float8 / 1000), to_timestamp(r.updated_at::float8 / 1000)
         from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bigint[],
           $10::bigint[]) r (id, status, intent, state, context, params, last_user, last_assistant, created_at, updated_at)
         on conflict (conversation_id) do update set status = excluded.status, intent_code = excluded.intent_code,
           state_code = excluded.state_code, context_json = excluded.context_json,
           input_params_json = excluded.input_params_json, last_user_text = excluded.last_user_text,
           last_assistant_json = excluded.last_assistant_json, updated_at = excluded.updated_at",
    columns: &[Text, Text, Text, Text, Json, Json, Text, Json, Integer, Integer],
}];

pub(super) const CREATE_CONVERSATIONS: [RowStatement; 1] = [RowStatement {
    sqlite: "insert into ce_conversation (conversation_id, status, created_at, updated_at) values ($1, 'RUNNING', $2, $2)
         on conflict (conversation_id) do nothing",
    postgres: "insert into ce_conversation (conversation_id, status, created_at, updated_at)
         select r.id::uuid, 'RUNNING', to_timestamp(r.at::float8 / 1000), to_timestamp(r.at::float8 / 1000)
         from unnest($1::text[], $2::bigint[]) r (id, at) on conflict (conversation_id) do nothing",
    columns: &[Text, Integer],
}];

pub(super) const UPDATE_AUDIT_PROGRESS: [RowStatement; 1] = [RowStatement {
    sqlite: "update ce_turn set audited = $3 where turn_id = $1 and status = 'open' and owner = $2 and audited < $3",
    postgres: "update ce_turn t set audited = r.audited from unnest($1::text[], $2::text[], $3::bigint[]) r (turn_id, owner, audited)
         where t.turn_id = r.turn_id::uuid and t.status = 'open' and t.owner = r.owner and t.audited < r.audited",
    columns: &[Text, Text, Integer],
}];

pub(super) const INSERT_AUDIT: [RowStatement; 1] = [RowStatement {
    sqlite: "insert into ce_audit (conversation_id, stage, payload_json, created_at) values ($1, $2, $3, $4)",
    postgres: "insert into ce_audit (conversation_id, stage, payload_json, created_at)
         select r.id::uuid, r.stage, r.payload::json, (r.at || 'Z')::timestamptz
         from unnest($1::text[], $2::text[], $3::text[], $4::text[]) r (id, stage, payload, at)",
    columns: &[Text, Text, Json, Text],
}];

pub(super) const INSERT_HISTORY: [RowStatement; 1] = [RowStatement {
    sqlite: "insert into ce_conversation_history (conversation_id, user_input, assistant_output, created_at, modified_at)
         values ($1, $2, $3, $4, $4)",
    postgres: "insert into ce_conversation_history (conversation_id, user_input, assistant_output, created_at, modified_at)
         select r.id::uuid, r.input, r.output::json, to_timestamp(r.at::float8 / 1000), to_timestamp(r.at::float8 / 1000)
         from unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) r (id, input, output, at)",
    columns: &[Text, Text, Json, Integer],
}];

pub(super) const UPSERT_MEMORY: [RowStatement; 1] = [RowStatement {
    sqlite: "insert into ce_memory (conversation_id, store, summary, turns, updated_at) values ($1, $2, $3, $4, $5)
         on conflict (conversation_id, store) do update set summary = excluded.summary, turns = excluded.turns,
           updated_at = excluded.updated_at",
    postgres: "insert into ce_memory (conversation_id, store, summary, turns, updated_at)
         select r.id::uuid, r.store, r.summary, r.turns, to_timestamp(r.at::float8 / 1000)
         from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[]) r (id, store, summary, turns, at)
         on conflict (conversation_id, store) do update set summary = excluded.summary, turns = excluded.turns,
           updated_at = excluded.updated_at",
    columns: &[Text, Text, Text, Integer, Integer],
}];

pub(super) const DELETE_MEMORY: [RowStatement; 1] = [RowStatement {
    sqlite: "delete from ce_memory where conversation_id = $1",
    postgres: "delete from ce_memory where conversation_id in (select r::uuid from unnest($1::text[]) r)",
    columns: &[Text],
}];
