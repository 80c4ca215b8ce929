//! Hindi.

use super::EngineTexts;
use super::{Language, LocaleWords};

pub(super) static LANGUAGE: Language = Language {
    code: "hi",
    weekdays: [
        ["सोमवार", "सोम"],
        ["मंगलवार", "मंगल"],
        ["बुधवार", "बुध"],
        ["गुरुवार", "गुरु"],
        ["शुक्रवार", "शुक्र"],
        ["शनिवार", "शनि"],
        ["रविवार", "रवि"],
    ],
    words: LocaleWords {
        and: "और,व,तथा,एवं",
        determiners: "यह,वह,ये,वे,इस,उस,इन,उन,मेरा,मेरी,मेरे,हमारा,हमारी,हमारे,आपका,आपकी,आपके,अपना,अपनी,अपने",
        contractions: "",
        questions: "कौन,कौनसा,कौनसी,कौनसे,सा,सी,किस,क्या,कब,कहां,कितना,कितने,कितनी,है,हैं,कृपया,बताएं,बताइए,चुनें,आप,मैं,हम,मुझे,हमें,या",
        free_words: "सवाल,सवालों,परशन,समसया,संदेश,अनुरोध,मदद,टिपपणी,सुझाव,विवरण,विषय,कारण,शिकायत,राय,खोज,इचछा,question,problem,message",
    },
    texts: Some(EngineTexts {
        confirm_value: "क्या {value} सही है?",
        yes: "हाँ",
        no: "नहीं",
        ask_for_value: "{name}?",
        choose_value: "आपका मतलब इनमें से किससे है: {values}?",
        choose_intent: "आपका मतलब “{first}” से है या “{second}” से?",
        not_understood: "माफ़ कीजिए, यह बात समझ में नहीं आई।",
        cancelled: "ठीक है, इसे रोक दिया गया है।",
        nothing_to_cancel: "अभी रोकने के लिए कुछ नहीं है।",
        answer_needed: "आगे बढ़ने के लिए जवाब ज़रूरी है।",
        reason_for_question: "यह “{name}” के लिए ज़रूरी है।",
        first_question: "यह पहला सवाल है।",
        cannot_change: "इसे अब बदला नहीं जा सकता।",
        corrected: "ठीक है: {value}।",
        started_over: "ठीक है, फिर से शुरू करते हैं।",
        no_person: "माफ़ कीजिए, यहाँ कोई उपलब्ध नहीं है।",
        returned: "अब वापस “{name}” पर।",
        can_help_with: "मैं इनमें मदद कर सकता हूँ: {names}।",
        not_understood_again: "बात अब भी समझ में नहीं आई। कृपया दूसरे शब्दों में कहिए।",
        given_up: "माफ़ कीजिए, इसमें मदद नहीं हो सकती।",
        left_alone: "ठीक है, यह नहीं किया जाएगा।",
        error: "कुछ गड़बड़ हो गई। कृपया फिर से कोशिश करें।",
    }),
};
