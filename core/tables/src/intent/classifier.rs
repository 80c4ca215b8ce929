//! Resolves the intent by patterns, by a classifier that learns from examples, and by similarity to examples. (docs/decisions/0033-classifier-rows.md)

use convengine_config::Classifier;
use convengine_turn::{Candidate, EmbedRequest, Explanation, Map, Verdict, payload};
use convengine_understanding::lexical::{Decision, NEAREST, RankedClass, explain_class, round};
use serde_json::{Value, json};

use super::collision::code_to_words;
use crate::audit::Stage;
use crate::pending_action::ActionRuntime;
use crate::step_context::StepContext;

/// The reason of the question which of two intents is meant.
const QUESTION_REASON: &str = "INTENT_EXAMPLES";

/// What the rows say of a message.
#[derive(Debug, Clone, Copy)]
pub enum Classification<'c> {
    /// The intent and state of a row.
    Row(&'c Classifier),
    /// One of two intents: the user is asked which.
    Asked,
    /// Nothing.
    Unknown,
}

/// Classifies the message: the first matching pattern row decides if all matching rows agree on the intent; if none matches, the
/// classifier, then the row of the most similar example. Between two intents the user is asked if examples are close, and if patterns
/// match both and the configuration says so.
pub async fn classify<'c>(cx: &mut StepContext<'c>) -> Classification<'c> {
    let was_asked = cx.session.clarification.as_ref().is_some_and(|clarification| clarification.reason.as_deref() == Some(QUESTION_REASON));
    if was_asked {
        cx.session.clarification = None;
    }
    match classify_by_rows(cx).await {
        Ok(Some(row)) => Classification::Row(row),
        Ok(None) => Classification::Unknown,
        Err(_) if was_asked => Classification::Unknown,
        Err(close) => {
            let [first, second] = close.map(|row| code_to_words(&row.intent));
            cx.session.ask(format!("Did you mean {first} or {second}?"), QUESTION_REASON);
            Classification::Asked
        }
    }
}

/// The deciding row. The error is two that are too close to choose between them.
async fn classify_by_rows<'c>(cx: &mut StepContext<'c>) -> Result<Option<&'c Classifier>, [&'c Classifier; 2]> {
    let config = cx.config;
    let text = cx.session.working_text().map(str::to_owned);
    let hits = text.as_deref().map(|text| config.classifiers.find_matching(text)).unwrap_or_default();
    let mut intents: Vec<&str> = Vec::new();
    for hit in &hits {
        if !intents.contains(&hit.intent.as_str()) {
            intents.push(&hit.intent);
        }
    }
    let mut explanation = cx
        .effects
        .begin_explanation("classifier")
        .map(|explanation| explanation.with_candidates(config.classifiers.candidates(text.as_deref().unwrap_or_default())));
    if intents.len() > 1 {
        // While an action is offered, the next yes is for that, and no second question is asked.
        let may_ask = config.intent_resolver.asks_on_collision && !ActionRuntime::from_session(&cx.session).is_open();
        let two = first_of_two(&hits).filter(|_| may_ask);
        if let Some(explanation) = explanation {
            let verdict = match two {
                Some(_) => "rows of two intents match: the user is asked which is meant",
                None => "rows of several intents match, so that none decides",
            };
            explanation.with_subject(json!({"collision": intents})).record(&cx.effects, verdict);
        }
        cx.audit(
            Stage::IntentClassifierCollision,
            |session| payload!({"userText": session.user_text, "matchedIntents": intents, "matchedByRule": intents_by_rule(&hits)}),
        );
        return two.map_or(Ok(None), Err);
    }
    if let Some(first) = hits.first() {
        if let Some(mut explanation) = explanation {
            explanation.mark_selected(first.id);
            explanation.record(&cx.effects, "the rows that match agree on the intent: the first of them decides");
        }
        cx.audit(
            Stage::IntentClassificationMatched,
            |_| payload!({"intent": first.intent, "state": first.state, "matchedByRule": intents_by_rule(&hits)}),
        );
        return Ok(Some(first));
    }
    let text = text.filter(|message| !message.trim().is_empty());
    let learned = text.as_deref().map_or(Ok(None), |it| classify_by_examples(cx, it));
    match learned {
        Ok(None) => {}
        Ok(Some(_)) | Err(_) => {
            if let Some(explanation) = explanation {
                explanation.record(&cx.effects, "no pattern fits: the examples decide");
            }
            return learned;
        }
    }
    let similar = match text {
        Some(text) => find_most_similar(cx, &text, &mut explanation).await,
        None => None,
    };
    if let Some(explanation) = explanation {
        let verdict = if similar.is_some() { "the example phrase that is most like the message decides" } else { "no row fits" };
        explanation.with_subject(json!({"minScore": config.intent_resolver.semantic_min_score})).record(&cx.effects, verdict);
    }
    if similar.is_none() {
        cx.audit(
            Stage::IntentClassifierNoMatch,
            |session| payload!({"userText": session.user_text, "intent": session.intent, "state": session.state}),
        );
    }
    Ok(similar)
}

/// The first row of each intent, if the rows have exactly two.
fn first_of_two<'c>(hits: &[&'c Classifier]) -> Option<[&'c Classifier; 2]> {
    let first = hits.first()?;
    let second = hits.iter().find(|hit| hit.intent != first.intent)?;
    hits.iter().all(|hit| hit.intent == first.intent || hit.intent == second.intent).then_some([*first, *second])
}

/// Asks the classifier that has learned from the rows of type EXAMPLE. The error is two rows that are too close.
fn classify_by_examples<'c>(cx: &StepContext<'c>, text: &str) -> Result<Option<&'c Classifier>, [&'c Classifier; 2]> {
    let config = cx.config;
    let learned = &config.classifiers.learned;
    let Some(classifier) = learned.classifier() else { return Ok(None) };
    let acceptance = config.intent_resolver.example_acceptance;
    let threshold = classifier.threshold(acceptance);
    let ranking = classifier.rank(text);
    let decision = classifier.decide(&ranking, acceptance);
    let row = |ranked: &RankedClass| learned.classes.get(ranked.class);
    let (chosen, verdict) = match &decision {
        Decision::Accepted(best) => (vec![row(best)], "the words of the message are like the examples of the first row"),
        Decision::Close(best, second) => (vec![row(best), row(second)], "two rows are too close to choose between them"),
        Decision::Refused => (Vec::new(), "no row is near enough"),
    };
    let chosen: Vec<&Classifier> = chosen.into_iter().flatten().collect();
    if let Some(explanation) = cx.effects.begin_explanation("examples") {
        let candidate = |ranked: &RankedClass| {
            let row = row(ranked)?;
            let verdict = match chosen.as_slice() {
                [only] if only.id == row.id => Verdict::Won,
                [first, second] if [first.id, second.id].contains(&row.id) => Verdict::Matched,
                _ => Verdict::NotMatched,
            };
            let (facts, score) = (explain_class(classifier, text, ranked), ranked.confidence.into());
            Some(Candidate { facts, score, ..row.candidate(verdict) })
        };
        let candidates = ranking.classes.iter().take(NEAREST).filter_map(candidate).collect();
        let about = json!({"threshold": threshold, "known": ranking.known, "askBelowMargin": acceptance.margin});
        explanation.with_subject(about).with_candidates(candidates).record(&cx.effects, verdict);
    }
    match chosen.as_slice() {
        [only] => {
            let confidence = ranking.classes.first().map_or(0.0, |it| it.confidence);
            let payload = json!({
                "intent": only.intent, "state": only.state, "matchedByRule": intents_by_rule(&[only]), "exampleConfidence": round(confidence),
            });
            cx.audit(Stage::IntentClassificationMatched, |_| payload);
            Ok(Some(only))
        }
        [first, second] => {
            cx.audit(Stage::IntentClassifierCollision, |session| {
                let intents = [&first.intent, &second.intent];
                payload!({"userText": session.user_text, "matchedIntents": intents, "matchedByRule": intents_by_rule(&[first, second])})
            });
            Err([first, second])
        }
        _ => Ok(None),
    }
}

fn intents_by_rule(hits: &[&Classifier]) -> Map {
    hits.iter().map(|hit| (hit.id.to_string(), json!(hit.intent))).collect()
}

async fn find_most_similar<'c>(cx: &mut StepContext<'c>, text: &str, explanation: &mut Option<Explanation>) -> Option<&'c Classifier> {
    let examples = &cx.config.classifiers.examples;
    if examples.is_empty() {
        return None;
    }
    let texts = std::iter::once(text.to_owned()).chain(examples.iter().map(|example| example.phrase.clone())).collect();
    let vectors = match cx.effects.perform(EmbedRequest { texts }).await {
        Ok(reply) => reply.vectors,
        Err(error) => {
            cx.audit(Stage::IntentClassifierSemanticSkipped, |_| payload!({"reason": error.message, "exception": error.kind}));
            return None;
        }
    };
    let (text_vector, example_vectors) = vectors.split_first()?;
    let mut best: Option<(f64, &Classifier)> = None;
    for (example, vector) in examples.iter().zip(example_vectors) {
        let score = cosine_similarity(text_vector, vector);
        if let Some(explanation) = explanation {
            explanation.rows.push(Candidate { score: score.into(), ..example.row.candidate(Verdict::Lost) });
        }
        if best.is_none_or(|it| score > it.0) {
            best = Some((score, &example.row));
        }
    }
    let (score, row) = best.filter(|&(score, _)| score >= cx.config.intent_resolver.semantic_min_score)?;
    if let Some(explanation) = explanation {
        explanation.mark_selected(row.id);
    }
    cx.audit(Stage::IntentClassificationMatched, |_| {
        let mut payload = json!({"intent": row.intent, "state": row.state, "matchedByRule": intents_by_rule(&[row])});
        if let Some(payload) = payload.as_object_mut() {
            payload.insert("semanticScore".to_owned(), Value::from(score));
        }
        payload
    });
    Some(row)
}

/// The cosine similarity of two vectors, from -1 to 1; 0 for vectors without length.
fn cosine_similarity(a: &[f64], b: &[f64]) -> f64 {
    let dot: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
    let length = |vector: &[f64]| vector.iter().map(|component| component * component).sum::<f64>().sqrt();
    let lengths = length(a) * length(b);
    if a.len() == b.len() && lengths > 0.0 { dot / lengths } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use convengine_config::Classifier;

    use super::{cosine_similarity, first_of_two};

    #[test]
    fn two_intents_are_told_from_one_and_from_three() {
        let rows: Vec<Classifier> = [(1, "HOURS"), (2, "REFILL"), (3, "HOURS"), (4, "PRICES")]
            .into_iter()
            .map(|(id, intent)| Classifier { id, intent: intent.to_owned(), state: "ANY".to_owned() })
            .collect();
        let ids = |hits: &[usize]| {
            let hits: Vec<&Classifier> = hits.iter().map(|at| &rows[*at]).collect();
            first_of_two(&hits).map(|two| two.map(|row| row.id))
        };
        assert_eq!((ids(&[0, 2, 1]), ids(&[1, 0])), (Some([1, 2]), Some([2, 1])));
        assert_eq!((ids(&[]), ids(&[0, 2]), ids(&[0, 1, 3])), (None, None, None));
    }

    #[test]
    fn similarity_is_the_cosine() {
        assert!((cosine_similarity(&[1.0, 0.0], &[2.0, 0.0]) - 1.0).abs() < 1e-12);
        assert!((cosine_similarity(&[1.0, 1.0], &[1.0, 0.0]) - 0.5_f64.sqrt()).abs() < 1e-12);
        assert!(cosine_similarity(&[1.0, 1.0], &[1.0]).abs() < 1e-12 && cosine_similarity(&[0.0], &[0.0]).abs() < 1e-12);
    }
}
