//! The size of a configuration changes neither what a turn does nor its replies; `cargo xtask bench` checks the cost.

use convengine_core::turn::{Notice, Outcome};
use convengine_corpus::effect_free::EffectFreePack;
use convengine_corpus::synthetic::{MIN_ROWS, pack};

fn play_with_rows(rows: usize) -> Vec<(Outcome, Vec<Notice>)> {
    let mut played = Vec::new();
    let plain = EffectFreePack::from_pack(&pack(rows).unwrap()).unwrap();
    plain
        .play(|ended| {
            played.push((ended.outcome.clone(), ended.notices.clone()));
            Ok(())
        })
        .unwrap();
    played
}

#[test]
fn unrelated_rows_change_nothing() {
    let few = play_with_rows(MIN_ROWS);
    let answers: Vec<&str> = few.iter().filter_map(|it| it.0.payload.as_ref()).map(|it| it.value.as_str()).collect();
    let found = "Order MF-20417 is on its way.";
    assert_eq!(answers, ["Which order do you mean?", found, "We look for it: started.", found, found]);
    for rows in [200, 1_000] {
        assert_eq!(pack(rows).unwrap().tables.0.values().map(Vec::len).sum::<usize>(), rows);
        assert_eq!(play_with_rows(rows), few, "{rows} rows");
    }
}
