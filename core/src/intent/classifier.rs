//! Resolves the intent by patterns, and by similarity to example phrases. (docs/decisions/0033-classifier-rows.md)

use serde_json::{Value, json};

use crate::audit::Stage;
use crate::config::Classifier;
use crate::step_context::StepContext;
use crate::turn::{Candidate, EmbedRequest, Explanation, Map, Verdict};

/// Returns the deciding row: the first matching pattern row if all matching rows agree on the intent; if none matches, the row of the
/// most similar example phrase.
pub async fn classify<'c>(cx: &mut StepContext<'c>) -> Option<&'c Classifier> {
    let config = cx.config;
    let text = cx.session.working_text().map(str::to_owned);
    let hits = text.as_deref().map(|it| config.classifiers.find_matching(it)).unwrap_or_default();
    let mut intents: Vec<&str> = Vec::new();
    for hit in &hits {
        if !intents.contains(&hit.intent.as_str()) {
            intents.push(&hit.intent);
        }
    }
    let mut explanation = cx
        .effects
        .begin_explanation("classifier")
        .map(|it| it.with_candidates(config.classifiers.candidates(text.as_deref().unwrap_or_default())));
    if intents.len() > 1 {
        if let Some(explanation) = explanation {
            explanation
                .with_subject(json!({"collision": intents}))
                .record(&cx.effects, "rows of several intents match, so that none decides");
        }
        cx.audit(
            Stage::IntentClassifierCollision,
            |session| json!({"userText": session.user_text, "matchedIntents": intents, "matchedByRule": intents_by_rule(&hits)}),
        );
        return None;
    }
    if let Some(first) = hits.first() {
        if let Some(mut explanation) = explanation {
            explanation.mark_selected(first.id);
            explanation.record(&cx.effects, "the rows that match agree on the intent: the first of them decides");
        }
        cx.audit(
            Stage::IntentClassificationMatched,
            |_| json!({"intent": first.intent, "state": first.state, "matchedByRule": intents_by_rule(&hits)}),
        );
        return Some(first);
    }
    let similar = match text.filter(|it| !it.trim().is_empty()) {
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
            |session| json!({"userText": session.user_text, "intent": session.intent, "state": session.state}),
        );
    }
    similar
}

fn intents_by_rule(hits: &[&Classifier]) -> Map {
    hits.iter().map(|it| (it.id.to_string(), json!(it.intent))).collect()
}

async fn find_most_similar<'c>(cx: &mut StepContext<'c>, text: &str, explanation: &mut Option<Explanation>) -> Option<&'c Classifier> {
    let examples = &cx.config.classifiers.examples;
    if examples.is_empty() {
        return None;
    }
    let texts = std::iter::once(text.to_owned()).chain(examples.iter().map(|it| it.phrase.clone())).collect();
    let vectors = match cx.effects.perform(EmbedRequest { texts }).await {
        Ok(reply) => reply.vectors,
        Err(error) => {
            cx.audit(Stage::IntentClassifierSemanticSkipped, |_| json!({"reason": error.message, "exception": error.kind}));
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
    let (score, row) = best.filter(|it| it.0 >= cx.config.intent_resolver.semantic_min_score)?;
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
    let length = |it: &[f64]| it.iter().map(|it| it * it).sum::<f64>().sqrt();
    let lengths = length(a) * length(b);
    if a.len() == b.len() && lengths > 0.0 { dot / lengths } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::cosine_similarity;

    #[test]
    fn similarity_is_the_cosine() {
        assert!((cosine_similarity(&[1.0, 0.0], &[2.0, 0.0]) - 1.0).abs() < 1e-12);
        assert!((cosine_similarity(&[1.0, 1.0], &[1.0, 0.0]) - 0.5_f64.sqrt()).abs() < 1e-12);
        assert!(cosine_similarity(&[1.0, 1.0], &[1.0]).abs() < 1e-12 && cosine_similarity(&[0.0], &[0.0]).abs() < 1e-12);
    }
}
