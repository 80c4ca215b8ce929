//! Prints the hashes of every turn of the corpus.
use convengine_player::{CorePlayer, Suspend};
use convengine_tests::corpus;
fn main() {
    for case in corpus().unwrap().into_iter().chain(convengine_tests::flows().unwrap()) {
        let mut player = CorePlayer::new(&case.pack, Suspend::Never);
        for turn in 0..case.pack.turns.len() {
            match player.play(turn) {
                Ok(t) => {
                    println!("{}\t{turn}\t{}\t{}\t{}", case.pack.name, t.hash, t.state_hash, serde_json::to_string(&t.journal).unwrap())
                }
                Err(e) => println!("{}\t{turn}\tERR {e}", case.pack.name),
            }
        }
    }
}
