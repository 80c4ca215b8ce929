-- The embeddings of the phrases that classifiers have learned, in batches.

create table if not exists cv_phrase_vector (
  -- The classifier: SHA-256 of the phrases and the trainer.
  hash text not null,
  model text not null,
  -- The position of the first phrase of the batch among the phrases of intents.
  first integer not null,
  -- The number of phrases.
  count integer not null,
  -- Little-endian 32-bit floats, one vector after the other.
  vectors blob not null,
  primary key (hash, model, first)
);
