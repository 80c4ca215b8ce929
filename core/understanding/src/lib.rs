//! Finds what people mean in what they write: entities, intents and passages of knowledge, without a model.

pub mod entity;
pub mod knowledge;
pub mod lexical;
