//! Intents by the wording of the message, and by likeness to example phrases. (`decisions.md` 9, classifier rows)

use serde_json::{Value, json};

use crate::audit::Stage;
use crate::config::Classifier;
use crate::turn::{Considered, EmbedRequest, Fate, Map, Why};
use crate::turning::Turning;

/// The row that decides: when all pattern rows that match agree on the intent, the first of them; when none matches, the
/// example phrase that is most like the message.
pub async fn classify<'c>(t: &mut Turning<'c>) -> Option<&'c Classifier> {
    let config = t.config;
    let text = t.session.working_text().map(str::to_owned);
    let hits = text.as_deref().map(|it| config.classifiers.matching(it)).unwrap_or_default();
    let mut intents: Vec<&str> = Vec::new();
    for hit in &hits {
        if !intents.contains(&hit.intent.as_str()) {
            intents.push(&hit.intent);
        }
    }
    let mut why = t.door.why("classifier").map(|it| it.of(config.classifiers.considered(text.as_deref().unwrap_or_default())));
    if intents.len() > 1 {
        if let Some(why) = why {
            why.about(json!({"collision": intents})).decided(&t.door, "rows of several intents match, so that none decides");
        }
        t.audit(
            Stage::IntentClassifierCollision,
            |session| json!({"userText": session.user_text, "matchedIntents": intents, "matchedByRule": by_rule(&hits)}),
        );
        return None;
    }
    if let Some(first) = hits.first() {
        if let Some(mut why) = why {
            why.wins(first.id);
            why.decided(&t.door, "the rows that match agree on the intent: the first of them decides");
        }
        t.audit(
            Stage::IntentClassificationMatched,
            |_| json!({"intent": first.intent, "state": first.state, "matchedByRule": by_rule(&hits)}),
        );
        return Some(first);
    }
    let alike = match text.filter(|it| !it.trim().is_empty()) {
        Some(text) => most_alike(t, &text, &mut why).await,
        None => None,
    };
    if let Some(why) = why {
        let verdict = if alike.is_some() { "the example phrase that is most like the message decides" } else { "no row fits" };
        why.about(json!({"minScore": config.agent.semantic_min_score})).decided(&t.door, verdict);
    }
    if alike.is_none() {
        t.audit(
            Stage::IntentClassifierNoMatch,
            |session| json!({"userText": session.user_text, "intent": session.intent, "state": session.state}),
        );
    }
    alike
}

fn by_rule(hits: &[&Classifier]) -> Map {
    hits.iter().map(|it| (it.id.to_string(), json!(it.intent))).collect()
}

async fn most_alike<'c>(t: &mut Turning<'c>, text: &str, why: &mut Option<Why>) -> Option<&'c Classifier> {
    let examples = &t.config.classifiers.examples;
    if examples.is_empty() {
        return None;
    }
    let texts = std::iter::once(text.to_owned()).chain(examples.iter().map(|it| it.phrase.clone())).collect();
    let vectors = match t.door.perform(EmbedRequest { texts }).await {
        Ok(reply) => reply.vectors,
        Err(error) => {
            t.audit(Stage::IntentClassifierSemanticSkipped, |_| json!({"reason": error.message, "exception": error.kind}));
            return None;
        }
    };
    let (of_text, of_examples) = vectors.split_first()?;
    let mut best: Option<(f64, &Classifier)> = None;
    for (example, vector) in examples.iter().zip(of_examples) {
        let score = cosine(of_text, vector);
        if let Some(why) = why {
            why.rows.push(Considered { score: score.into(), ..example.row.considered(Fate::Lost) });
        }
        if best.is_none_or(|it| score > it.0) {
            best = Some((score, &example.row));
        }
    }
    let (score, row) = best.filter(|it| it.0 >= t.config.agent.semantic_min_score)?;
    if let Some(why) = why {
        why.wins(row.id);
    }
    t.audit(Stage::IntentClassificationMatched, |_| {
        let mut payload = json!({"intent": row.intent, "state": row.state, "matchedByRule": by_rule(&[row])});
        if let Some(payload) = payload.as_object_mut() {
            payload.insert("semanticScore".to_owned(), Value::from(score));
        }
        payload
    });
    Some(row)
}

/// How alike two vectors are, from -1 to 1; vectors without length are like nothing.
fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let dot: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
    let length = |it: &[f64]| it.iter().map(|it| it * it).sum::<f64>().sqrt();
    let lengths = length(a) * length(b);
    if a.len() == b.len() && lengths > 0.0 { dot / lengths } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::cosine;

    #[test]
    fn likeness_is_the_cosine() {
        assert!((cosine(&[1.0, 0.0], &[2.0, 0.0]) - 1.0).abs() < 1e-12);
        assert!((cosine(&[1.0, 1.0], &[1.0, 0.0]) - 0.5_f64.sqrt()).abs() < 1e-12);
        assert!(cosine(&[1.0, 1.0], &[1.0]).abs() < 1e-12 && cosine(&[0.0], &[0.0]).abs() < 1e-12);
    }
}
