//! The mixed load of `cargo xtask soak load` and the streams of `cargo xtask soak streams`, short: every reply and every event is correct;
//! speed is not checked.

use std::rc::Rc;

use convengine_tests::binary;
use convengine_tests::soak::load::{Until, hold};
use convengine_tests::soak::{Mix, streams};

use crate::database::soak_kind;

#[test]
fn conversations_of_five_packs_at_once_are_answered_as_if_each_were_alone() {
    let mix = Rc::new(Mix::start(&binary().unwrap(), &soak_kind(), &[]).unwrap());
    let seen = hold(&mix, 8, Until::Conversations(40)).unwrap();
    assert_eq!((seen.failures, seen.failed.as_slice()), (0, [].as_slice()));
    assert_eq!(seen.conversations, 40);
    let stored = "select cast(count(*) as text) from ce_turn";
    let turns: usize = mix.served.iter().map(|it| it.database.rows(stored).unwrap()[0][0].parse::<usize>().unwrap()).sum();
    assert_eq!(turns, seen.micros.len());
    let long = "select cast(count(*) as text) from (select 1 from ce_turn group by conversation_id having count(*) > 30) as long";
    let long: usize = mix.served.iter().map(|it| it.database.rows(long).unwrap()[0][0].parse::<usize>().unwrap()).sum();
    assert_eq!(long, 20, "half of the conversations");
}

#[test]
fn each_of_many_streams_hears_its_conversation_whole_and_in_order() {
    let seen = streams::hold(&binary().unwrap(), &soak_kind(), 250, 1).unwrap();
    assert_eq!((seen.failures, seen.failed.as_slice()), (0, [].as_slice()));
    assert_eq!((seen.streams, seen.stomp), (250, 50));
    assert!(seen.resumed > 0 && seen.events > seen.turns * 10, "{seen:?}");
}
