//! Calls of models that are charged to the cap of the server and to the budget of a document.

use convengine_core::turn::{EffectError, EffectResult};
use convengine_effects::llm::ModelAnswer;

use crate::Content;
use crate::spend_budget::{self, Budget};
use crate::spend_cap;

/// Makes a call that costs about `estimate` millionths of a currency unit, unless the cap or the budget forbids it, and charges both what it
/// has cost.
pub async fn charge(content: &Content, budget: Option<Budget>, estimate: u64, call: impl Future<Output = ModelAnswer>) -> ModelAnswer {
    let spend = match spend_cap::reserve(content, estimate).await {
        Ok(reserved) => reserved,
        Err(error) => return refuse(error),
    };
    let answer = match budget {
        Some(budget) => charge_budget(content, budget, estimate, call).await,
        None => call.await,
    };
    spend_cap::settle(content, spend, &answer).await;
    answer
}

async fn charge_budget(content: &Content, budget: Budget, estimate: u64, call: impl Future<Output = ModelAnswer>) -> ModelAnswer {
    let reserved = match spend_budget::reserve(content, budget, estimate).await {
        Ok(reserved) => reserved,
        Err(error) => return refuse(error),
    };
    let answer = call.await;
    spend_budget::settle(content, reserved, &answer).await;
    answer
}

fn refuse(error: EffectError) -> ModelAnswer {
    ModelAnswer { result: EffectResult::Error(error), billed_attempts: 0 }
}
