//! A twentieth of the points at which servers are killed; `cargo xtask soak crash` covers all of them.

use convengine_test_macros::test;
use convengine_tests::server_binary;
use convengine_tests::soak::crash::{PACKS, run};

use crate::database::database_kind;

#[test]
fn turns_of_a_killed_server_are_finished_once() {
    let (mut kills, mut doubts, mut wrong) = (0, 0, Vec::new());
    for (number, pack) in PACKS.iter().enumerate() {
        // A different point of each pack, so that together they cover every kind.
        let first = 2 + u32::try_from(number).unwrap() % 5;
        let found = run(&server_binary().unwrap(), &database_kind(), pack, first, 20).unwrap();
        assert!(found.kills > 0, "{pack} crosses {} points", found.crossings);
        kills += found.kills;
        doubts += found.in_doubt.len();
        wrong.extend(found.violations);
    }
    assert!(kills > 20, "only {kills} servers were killed");
    assert!(doubts > 0 || !wrong.is_empty(), "no server was killed with a call in doubt");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
