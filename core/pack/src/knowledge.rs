//! The knowledge bases of a pack: its sources, searched in memory. (docs/spec/flows.md#4.12)

use std::collections::BTreeMap;

use convengine_text::json::decode_both;
use convengine_turn::{KNOWLEDGE_LIST_DEPTH, KnowledgeReply, KnowledgeRequest, Passage, VectorHit};
use convengine_understanding::knowledge::{KnowledgeIndex, Source, rank_vector};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::Pack;

/// A source of a knowledge base; its members are those of a [`Source`], and two more.
///
/// ```
/// use convengine_pack::Pack;
///
/// let pack = Pack::parse(r#"{"name": "p",
///     "documents": [{"doc": "conversation_flow", "id": "help", "default_locale": "en-GB"}],
///     "knowledge": [{"id": "delivery", "title": "Delivery", "text": "Parcels arrive within two days."}]}"#)?;
/// assert_eq!(pack.sources("help")[0].locale, "en-GB", "that of its document");
/// assert!(pack.sources("other").is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PackSource {
    /// The id of the document whose knowledge base it belongs to; the first document when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assistant: Option<String>,
    /// The kind of the document, if it is not an assistant and the pack does not contain it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The source; its locale is that of the document when absent.
    #[serde(flatten)]
    pub source: Source,
}

impl<'de> Deserialize<'de> for PackSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PackSource, D::Error> {
        #[derive(Deserialize)]
        struct OwnMembers {
            assistant: Option<String>,
            program: Option<String>,
        }

        let (OwnMembers { assistant, program }, source) = decode_both(deserializer)?;
        Ok(PackSource { assistant, program, source })
    }
}

/// The knowledge bases of a pack by the ids of their documents.
#[derive(Debug, Clone, Default)]
pub(super) struct PackKnowledge(BTreeMap<String, KnowledgeIndex>);

impl Pack {
    /// Returns the sources of a document's knowledge base, by the id of the document; none for an unknown one.
    pub fn sources(&self, document: &str) -> Vec<Source> {
        let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let locale = self.documents.iter().find(|candidate| text(candidate, "id") == document).map(|it| text(it, "default_locale"));
        let first = self.documents.first().map(|it| text(it, "id")).unwrap_or_default();
        let is_of_document = |pack_source: &&PackSource| pack_source.assistant.as_ref().unwrap_or(&first) == document;
        let with_locale = |pack_source: &PackSource| {
            let locale =
                if pack_source.source.locale.is_empty() { locale.clone().unwrap_or_default() } else { pack_source.source.locale.clone() };
            Source { locale, ..pack_source.source.clone() }
        };
        self.knowledge.iter().filter(is_of_document).map(with_locale).collect()
    }
}

impl PackKnowledge {
    /// Indexes the sources of a pack.
    pub fn from_pack(pack: &Pack) -> PackKnowledge {
        let mut bases = BTreeMap::new();
        if pack.knowledge.is_empty() {
            return PackKnowledge(bases);
        }
        for id in pack.documents.iter().filter_map(|document| document.get("id")?.as_str()) {
            let base: &mut KnowledgeIndex = bases.entry(id.to_owned()).or_default();
            for source in pack.sources(id) {
                base.add(&source);
            }
        }
        PackKnowledge(bases)
    }

    /// Whether the pack has a knowledge base for a document.
    pub fn has_base(&self, document: &str) -> bool {
        self.0.contains_key(document)
    }

    /// Searches a knowledge base; `embed` returns the vectors of texts, if it can.
    pub fn search(&self, request: &KnowledgeRequest, embed: impl FnOnce(Vec<String>) -> Option<Vec<Vec<f32>>>) -> KnowledgeReply {
        let Some(base) = self.0.get(&request.assistant) else { return KnowledgeReply::default() };
        let found = base.search(&request.query, request.sources.as_deref(), KNOWLEDGE_LIST_DEPTH);
        let is_searched = |source: &String| request.sources.as_ref().is_none_or(|sources| sources.contains(source));
        let chunks: Vec<_> = base.chunks().filter(|it| is_searched(&it.source)).collect();
        let texts = std::iter::once(request.query.clone()).chain(chunks.iter().map(|it| it.embedding_text())).collect();
        let vectors = if chunks.is_empty() { None } else { embed(texts) };
        let vector = vectors.as_deref().and_then(<[Vec<f32>]>::split_first).map_or_else(Vec::new, |(query, vectors)| {
            let pairs = chunks.iter().zip(vectors).map(|(chunk, vector)| (chunk.id.as_str(), vector.as_slice()));
            rank_vector(query, pairs, KNOWLEDGE_LIST_DEPTH).into_iter().map(|(chunk, score)| VectorHit { chunk, score }).collect()
        });
        let mut reply = KnowledgeReply { stats: found.stats, keyword: found.candidates, vector, ..KnowledgeReply::default() };
        reply.passages = reply.chunks_to_read(request).iter().filter_map(|it| base.chunk(it)).map(Passage::from).collect();
        reply
    }
}
