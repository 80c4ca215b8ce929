//! The talks of flow documents in the core: as expected, and the same when they are saved as JSON after every completion.

use convengine_server::pack_file;
use convengine_server::play::{CorePlayer, Suspend, play_core};
use convengine_tests::{explained, root};

#[test]
fn talks_of_flows_are_as_expected_and_survive_every_suspension() {
    let mut explained = explained().unwrap();
    let mut paths: Vec<_> = std::fs::read_dir(root().join("tests/packs/flow")).unwrap().map(|it| it.unwrap().path()).collect();
    paths.retain(|it| it.extension().is_some_and(|it| it == "talk"));
    paths.sort();
    assert!(paths.len() >= 12, "only {} talks were found", paths.len());
    for path in paths {
        let pack = pack_file::read(&path).unwrap();
        let report = play_core(&pack, Suspend::Never, &mut explained);
        assert!(report.passed(), "{report:#?}");
        let (mut whole, mut saved) = (CorePlayer::new(&pack, Suspend::Never), CorePlayer::new(&pack, Suspend::Always));
        for turn in 0..pack.turns.len() {
            let (a, b) = (whole.play(turn).unwrap(), saved.play(turn).unwrap());
            assert_eq!((a.hash, a.state_hash), (b.hash, b.state_hash), "{} turn {turn}", pack.name);
        }
    }
}
