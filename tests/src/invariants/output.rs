//! What may not be seen from outside. (I4, I8)

use convengine_core::turn::Answer;

use super::{Scene, progress};
use crate::simulate::fault::SECRET;

/// I4: what an effect's error says stays in the audit: it is in no reply, fault or progress message, unless a row of the pack prints it.
pub(super) fn keeps_secrets(scene: &Scene<'_>) -> Option<String> {
    let outcome = &scene.run.outcome;
    let said = outcome.payload.iter().map(|it| ("the reply", it.value.as_str()));
    let said = said.chain(outcome.fault.iter().map(|it| ("the fault", it.message.as_str())));
    if scene.rows.print_errors {
        return None;
    }
    let mut said = said.chain(progress(scene.run).map(|it| ("a progress message", it)));
    said.find(|it| it.1.contains(SECRET)).map(|(what, text)| format!("{what} says: {}", start(text)))
}

/// Marks of templates, SQL, class names and debug output.
const INSIDE: [&str; 16] =
    ["{{", "}}", "#{", "${", "[[", "[(", "th:", "select ", "SELECT ", "Exception", "java.", "Some(", "Err(", "Ok(", "::", "panicked"];

/// I8: a reply or a fault shows nothing of the inside, unless it came in from outside with the message or an answer.
pub(super) fn hides_the_inside(scene: &Scene<'_>) -> Option<String> {
    // What an undisturbed turn says is what its pack expects.
    scene.fault?;
    let outcome = &scene.run.outcome;
    let said = outcome.payload.as_ref().map(|it| &it.value).or(outcome.fault.as_ref().map(|it| &it.message))?;
    if scene.usual.contains(said) || (scene.rows.print_errors && said.contains(SECRET)) {
        return None;
    }
    let found = INSIDE.iter().filter(|it| said.contains(**it)).find(|it| !came_in(scene, it))?;
    Some(format!("'{found}' is seen: {}", start(said)))
}

/// Whether something was in what the turn got: its input, and the answers that were no errors.
fn came_in(scene: &Scene<'_>, mark: &str) -> bool {
    let answers = scene.run.answered.iter().filter(|it| matches!(it.answer, Answer::Ok(_)));
    let answers = answers.map(|it| serde_json::to_string(&it.answer).unwrap_or_default());
    let input = serde_json::to_string(&scene.run.input).unwrap_or_default();
    std::iter::once(input).chain(answers).any(|it| it.contains(mark))
}

fn start(text: &str) -> String {
    text.chars().take(200).collect()
}
