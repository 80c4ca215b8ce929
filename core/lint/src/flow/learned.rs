//! Phrases that teach the wrong intent, and intents that are learned badly. (I015, I016)

use convengine_config::flow::DocumentIssue;
use convengine_text::marked_phrase::without_marks;
use convengine_text::phrase::Phrase;
use convengine_understanding::lexical::validate;

use super::context::FlowContext;

/// With more phrases the cross-validation takes longer than somebody who types would wait; `convengine nlu` has no limit.
const MAX_PHRASES: usize = 600;

/// An intent with fewer phrases says nothing about itself; `I007` asks for more.
const ENOUGH_PHRASES: usize = 5;

/// An intent of whose held-out phrases less is recognised is reported.
const LOW_RECALL: f64 = 0.5;

pub(super) fn check(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    let flow = &context.flow;
    let settings = flow.document.settings.lexical_match;
    if !settings.enabled || flow.matchable_intents().nth(1).is_none() {
        return;
    }
    let set = flow.training_set();
    if set.phrases.len() > MAX_PHRASES {
        return;
    }
    let report = validate(&set, settings.acceptance());
    let find = |id: &str| flow.document.intents.iter().zip(&flow.phrases).enumerate().find(|(_, (intent, _))| intent.id == id);
    for misleading in report.misleading.iter().filter(|it| it.confidence >= report.threshold) {
        let Some((at, (intent, _))) = find(&misleading.class) else { continue };
        let Some(number) = intent.phrases.iter().position(|phrase| without_marks(phrase) == misleading.phrase) else { continue };
        let Some((_, (other, phrases))) = find(&misleading.taken_for) else { continue };
        // Equal phrases are reported as such.
        if phrases.positive.contains(&Phrase::new(&misleading.phrase, &flow.document.default_locale)) {
            continue;
        }
        let location = context.item_location("intents", at).join(&format!("/phrases/{number}"));
        let message =
            format!("'{}' is more like the phrases of '{}' than like the others of '{}'", misleading.phrase, other.name, intent.name);
        findings.push(location.warning("I015", message).with_fix("reword it, move it, or add phrases that show the difference"));
    }
    for class in report.classes.iter().filter(|class| class.phrases >= ENOUGH_PHRASES && class.recall < LOW_RECALL) {
        let Some((at, (intent, _))) = find(&class.class) else { continue };
        let recognised = (class.recall * 100.0).round();
        let message = format!("only {recognised} % of the phrases of '{}' are recognised by its other phrases", intent.name);
        let location = context.item_location("intents", at).join("/phrases");
        findings.push(location.warning("I016", message).with_fix("add phrases with different wording"));
    }
}
