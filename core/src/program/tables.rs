//! The program that runs control tables.

use std::sync::Arc;

use convengine_config::Config;
use convengine_tables::audit::Stage;
use convengine_tables::extension;
use convengine_tables::pipeline;
use convengine_tables::respond;
use convengine_tables::session::Session;
use convengine_tables::step_context::StepContext;
use convengine_turn::Fault;
use convengine_turn::{CancelReason, EffectContext, Outcome, Program, TurnInput, Write, payload};

/// Creates the program that runs the configuration's pipeline. Which steps it has is up to the profile of the settings.
pub(super) fn build_program(input: TurnInput, effects: EffectContext, config: Arc<Config>) -> Program {
    Box::pin(async move {
        let session = Session::from_input(input, config.settings.history_max_turns);
        let mut cx = StepContext { config: &config, session, effects };
        let effects = cx.effects.clone();
        match effects.run_unless_canceled(run(&mut cx)).await {
            Ok(Ok(())) => success_outcome(cx.session),
            Ok(Err(fault)) => failure_outcome(cx, &fault),
            Err(reason) => cancel_outcome(cx, reason),
        }
    })
}

async fn run(cx: &mut StepContext<'_>) -> Result<(), Fault> {
    pipeline::run(cx).await?;
    extension::transform_final_payload(cx).await.map_err(|_| Fault::from_task_failure())?;
    respond::audit_final_answer(cx);
    Ok(())
}

fn success_outcome(session: Session) -> Outcome {
    Outcome {
        conversation_id: session.conversation_id.clone(),
        intent: session.intent.clone(),
        state: session.state.clone(),
        payload: session.payload.clone(),
        context: Some(session.context.clone()),
        fault: None,
        flow: None,
        session: session.session_after(),
        writes: order_writes(session.writes),
    }
}

/// The outcome of a canceled turn: failed, with the session as it is.
fn cancel_outcome(cx: StepContext<'_>, reason: CancelReason) -> Outcome {
    cx.audit(
        Stage::TurnCancelled,
        |_| payload!({"reason": reason.name(), "step": cx.effects.step(), "openEffects": cx.effects.open_effect_count()}),
    );
    let fault = Fault::from_cancellation(reason, cx.effects.has_written());
    failure_outcome(cx, &fault)
}

/// The outcome of a failed turn: nothing is committed but the writes marked for failure and the model call log.
fn failure_outcome(mut cx: StepContext<'_>, fault: &Fault) -> Outcome {
    if let Some(count) = cx.session.writes_on_failure {
        let calls = cx.session.writes.split_off(count).into_iter().filter(|write| matches!(write, Write::LlmCall(_)));
        cx.session.writes.extend(calls.collect::<Vec<Write>>());
    }
    cx.audit(
        Stage::EngineKnownFailure,
        |_| payload!({"errorCode": fault.code.name(), "message": fault.message, "recoverable": fault.recoverable}),
    );
    Outcome {
        conversation_id: cx.session.conversation_id.clone(),
        intent: cx.session.intent.clone(),
        state: cx.session.state.clone(),
        payload: None,
        context: None,
        fault: Some(fault.report()),
        flow: None,
        session: cx.session.session_after(),
        writes: order_writes(cx.session.writes),
    }
}

/// Keeps only the last version of the conversation row and puts it first, because other rows reference it.
fn order_writes(writes: Vec<Write>) -> Vec<Write> {
    let (mut rows, others): (Vec<Write>, Vec<Write>) = writes.into_iter().partition(|write| matches!(write, Write::Conversation(_)));
    rows.pop().into_iter().chain(others).collect()
}
