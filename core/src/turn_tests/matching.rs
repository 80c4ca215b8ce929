//! How long matching took.

use std::sync::Arc;

use convengine_pack::Pack;
use serde_json::{Value, json};

use crate::turn::{Completion, EffectResult, LoadedSession, NoticeBody, ProgramRef, Reply, Slice, Turn, TurnInput, UserEvent, Write};

#[test]
fn a_match_record_has_the_duration_of_the_search() {
    let config = Arc::new(Pack::parse(include_str!("../../../tests/packs/flow/matching.json")).unwrap().compile().0);
    let start = |session: Option<Value>, event: Value| {
        let input = TurnInput {
            turn: "t".to_owned(),
            conversation: "s-1".to_owned(),
            at: 1000,
            seed: 1,
            program: ProgramRef::Flow,
            event: UserEvent::from_flow_event(event),
            session: LoadedSession { flow: session.map(Arc::new), ..LoadedSession::default() },
        };
        Turn::start(input, Arc::clone(&config)).unwrap()
    };
    let took = |slice: &Slice| {
        let ms = |body: &NoticeBody| {
            if let NoticeBody::Audit { stage, payload } = body {
                (stage == "intent.match").then(|| payload.get("ms").cloned().unwrap_or_default())
            } else {
                None
            }
        };
        slice.notices.iter().find_map(|notice| ms(&notice.body))
    };
    let begun = start(None, json!({"type": "session.start"})).1;
    let stored = |write: &Write| if let Write::Session { state } = write { Some((**state).clone()) } else { None };
    let session = begun.end.iter().flat_map(|it| &it.writes).find_map(stored);
    assert_eq!((took(&begun), session.is_some()), (Some(json!(0)), true));
    let (mut turn, slice) = start(session, json!({"type": "user.message", "text": "my balance please"}));
    assert_eq!(took(&slice), None);
    let mut at = 1000;
    let mut reply = |turn: &mut Turn, slice: &Slice, text: &str, ms: i64| {
        at += ms;
        let reply = Reply::Llm(serde_json::from_value(json!({"text": text})).unwrap());
        turn.resume(vec![Completion { id: slice.effects[0].id, at, outcome: EffectResult::Ok(reply) }]).unwrap()
    };
    let slice = reply(&mut turn, &slice, r#"{"match": false, "confidence": 1}"#, 300);
    assert_eq!(took(&slice), None);
    let slice = reply(&mut turn, &slice, r#"{"intent_id": null, "confidence": 0}"#, 550);
    assert_eq!((took(&slice), slice.end.is_some()), (Some(json!(850)), true));
}
