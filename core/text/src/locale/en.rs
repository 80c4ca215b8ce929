//! English.

use super::EngineTexts;
use super::{Language, LocaleWords};

pub(super) static LANGUAGE: Language = Language {
    code: "en",
    weekdays: [
        ["Monday", "Mon"],
        ["Tuesday", "Tue"],
        ["Wednesday", "Wed"],
        ["Thursday", "Thu"],
        ["Friday", "Fri"],
        ["Saturday", "Sat"],
        ["Sunday", "Sun"],
    ],
    words: LocaleWords {
        and: "and",
        determiners: "a,an,the,my,our,your,his,her,its,their,this,that,these,those",
        contractions: "",
        questions: "which,what,who,when,where,how,many,much,it,is,are,do,does,did,would,will,can,could,should,you,i,we,me,us,please,tell,give,enter,\
            choose,select,say,or,s,d,ll",
        free_words: "question,questions,query,problem,problems,issue,issues,message,messages,request,help,comment,comments,feedback,describe,description,details,topic,subject,note,notes,text,happened,wrong,concern,concerns,idea,ideas,thoughts,opinion,review,reason,matter,complaint,remark,remarks,mind,search,wish,wishes,prompt,body,content",
    },
    texts: Some(TEXTS),
};

/// Also what the engine says in a language that it does not speak.
pub(super) const TEXTS: EngineTexts = EngineTexts {
    confirm_value: "Is that {value}?",
    yes: "Yes",
    no: "No",
    ask_for_value: "{name}?",
    choose_value: "{values}?",
    choose_intent: "Did you mean “{first}” or “{second}”?",
    not_understood: "Sorry, I did not understand that.",
    cancelled: "All right, I have stopped that.",
    nothing_to_cancel: "There is nothing to stop at the moment.",
    answer_needed: "I need an answer to go on.",
    reason_for_question: "I need this for “{name}”.",
    first_question: "This is the first question.",
    cannot_change: "That can no longer be changed.",
    corrected: "All right: {value}.",
    started_over: "All right, let us start over.",
    no_person: "Sorry, nobody can take over here.",
    returned: "Back to “{name}”.",
    can_help_with: "I can help with: {names}.",
    not_understood_again: "I still do not understand. Please say it in other words.",
    given_up: "I am sorry, I cannot help with that.",
    left_alone: "All right, I will leave that.",
    error: "Something went wrong. Please try again.",
};
