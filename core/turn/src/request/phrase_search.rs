//! The effect that compares a message with the phrases of intents by their embeddings. (docs/spec/flows.md#5.3)

use convengine_understanding::knowledge::PhraseVectors;
use serde::{Deserialize, Serialize};

use super::{EffectClass, Usage};

/// Deadline in milliseconds; it includes the embedding of the text.
const DEADLINE_MS: u32 = 10_000;

/// The number of intents in a reply.
pub const PHRASE_SEARCH_DEPTH: usize = 20;

/// A text to compare with the phrases of all intents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhraseSearchRequest {
    /// The hash of the training set that has the phrases.
    pub classifier: String,
    /// The model that has embedded them.
    pub model: String,
    /// The text.
    pub text: String,
}

/// The intents with the nearest phrases, best first: at most [`PHRASE_SEARCH_DEPTH`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PhraseSearchReply {
    /// The intents.
    pub intents: Vec<IntentSimilarity>,
    /// What the embedding of the text has used; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// An intent and its phrase that is nearest to the text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IntentSimilarity {
    /// The id of the intent.
    pub intent: String,
    /// The cosine of the angle between the embeddings of the phrase and the text.
    pub similarity: f64,
}

impl PhraseSearchReply {
    /// Ranks the intents by the vectors of their phrases and of the text.
    pub fn from_vectors(phrases: &PhraseVectors, text: &[f32]) -> PhraseSearchReply {
        // Six digits survive any journal.
        let round = |similarity: f64| (similarity * 1e6).round() / 1e6;
        let nearest = phrases.find_nearest(text, PHRASE_SEARCH_DEPTH).into_iter();
        let intents = nearest.map(|(intent, it)| IntentSimilarity { intent, similarity: round(it) }).collect();
        PhraseSearchReply { intents, usage: None }
    }
}

operation!(PhraseSearch: PhraseSearchRequest => PhraseSearchReply, class: EffectClass::Read, deadline_ms: |_| DEADLINE_MS);
