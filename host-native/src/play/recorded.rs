//! What a recording has otherwise than an answer although both are right: ids that a server made, and audit rows that were left out.

use convengine_core::pack::{Pack, PackTurn};
use serde_json::{Value, json};

use super::expect::Played;

/// What a turn did, with the id that the recorded server made for the conversation in the place of the one that ours made, if it did.
pub(super) fn with_their_id(expect: &Value, pack: &Pack, mut played: Played) -> Played {
    let sent: String = pack.turns.iter().filter_map(|it| it.request.as_ref()).map(|it| format!("{} {}", it.path, it.body)).collect();
    let text = expect.to_string();
    let theirs = ids(&text).find(|it| !sent.contains(*it));
    let ours = played.json["conversationId"].as_str().filter(|it| !sent.contains(*it)).map(str::to_owned);
    let (Some(theirs), Some(ours)) = (theirs, ours) else { return played };
    let rename = |it: &mut Value| {
        let renamed = serde_json::from_str(&it.to_string().replace(&ours, theirs));
        *it = renamed.unwrap_or_else(|_| it.take());
    };
    [&mut played.json, &mut played.conversation].into_iter().for_each(rename);
    let lists = [&mut played.llm, &mut played.history, &mut played.verbose].into_iter().flatten();
    lists.chain(played.audit.iter_mut().map(|it| &mut it.1)).for_each(rename);
    played
}

/// The UUIDs in a text.
fn ids(text: &str) -> impl Iterator<Item = &str> {
    let pieces = text.split(|c: char| !c.is_ascii_hexdigit() && c != '-');
    pieces.filter(|it| it.len() == 36 && it.split('-').map(str::len).eq([8, 4, 4, 4, 12]))
}

/// Expectation and answer to a question for audit rows, as JSON throughout. Of the answer those rows are left that the recording has:
/// it keeps the first ones alone.
pub(super) fn with_the_rows_kept(mut expect: Value, turn: &PackTurn, mut played: Played) -> (Value, Played) {
    let asks = turn.request.as_ref().is_some_and(|it| it.method == "GET" && it.path.contains("/conversation/audit/"));
    let kept = expect.get_mut("json").and_then(rows);
    if let (true, Some(kept), Some(ours)) = (asks, kept, rows(&mut played.json)) {
        kept.iter_mut().chain(ours.iter_mut()).for_each(parse);
        let mut left = std::mem::take(ours).into_iter();
        *ours = kept.iter().filter_map(|row| left.find(|it| name(it) == name(row))).collect();
    }
    (expect, played)
}

fn rows(answer: &mut Value) -> Option<&mut Vec<Value>> {
    let list = if answer.is_array() { answer } else { answer.get_mut("stages")? };
    list.as_array_mut()
}

fn parse(row: &mut Value) {
    let parsed = row["payloadJson"].as_str().and_then(|it| serde_json::from_str(it).ok());
    row["payloadJson"] = parsed.unwrap_or_default();
}

fn name(row: &Value) -> Value {
    let payload = if row["payload"].is_null() { &row["payloadJson"] } else { &row["payload"] };
    json!([row["stage"], payload["step"]])
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENT: &str = "11111111-2222-3333-4444-555555555555";
    const OURS: &str = "aaaaaaaa-2222-3333-4444-555555555555";
    const THEIRS: &str = "bbbbbbbb-2222-3333-4444-555555555555";

    fn pack(path: &str) -> Pack {
        let turn = |method: &str, path: &str, body: Value| json!({"request": {"method": method, "path": path, "body": body}});
        let turns = json!([turn("POST", "/", json!({"conversationId": SENT})), turn("GET", path, Value::Null)]);
        Pack::parse(&json!({"name": "n", "turns": turns}).to_string()).expect("a pack")
    }

    #[test]
    fn an_id_that_a_server_has_made_is_another_one() {
        let expect = json!({"conversation": {"conversation_id": SENT}, "history": [format!("for {THEIRS}")]});
        let of = |id: &str| Played { json: json!({"conversationId": id}), history: vec![json!(format!("for {id}"))], ..Played::default() };
        let renamed = |id: &str| with_their_id(&expect, &pack("/"), of(id)).history;
        assert_eq!((renamed(OURS), renamed(SENT)), (of(THEIRS).history, of(SENT).history), "the client named one of them");
    }

    #[test]
    fn rows_that_a_recording_leaves_out_are_no_difference() {
        let row = |stage: &str, step: &str| json!({"stage": stage, "payloadJson": json!({"step": step}).to_string()});
        let expect = json!({"json": [row("STEP_ENTER", "A"), row("STEP_ENTER", "B")]});
        let all = json!([row("STEP_ENTER", "A"), row("STEP_EXIT", "A"), row("STEP_ENTER", "B"), row("STEP_EXIT", "B")]);
        let of = |path: &str, answer: &Value| {
            let played = Played { json: answer.clone(), ..Played::default() };
            with_the_rows_kept(expect.clone(), &pack(path).turns[1], played)
        };
        let (left, right) = of("/api/v1/conversation/audit/x", &all);
        assert_eq!((&left["json"], left["json"][1]["payloadJson"]["step"].as_str()), (&right.json, Some("B")));
        let (left, right) = of("/api/v1/conversation/audit/x", &json!([all[0]]));
        assert_eq!((left["json"].as_array().map(Vec::len), right.json.as_array().map(Vec::len)), (Some(2), Some(1)));
        assert_eq!(of("/elsewhere", &all).1.json, all);
    }
}
