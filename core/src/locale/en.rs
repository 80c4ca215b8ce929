//! English.

use super::EngineTexts;
use super::{Language, LocaleWords, NumberWords};

pub(super) static LANGUAGE: Language = Language {
    code: "en",
    words: LocaleWords {
        and: "and",
        article: "a,an",
        half: "half",
        determiners: "a,an,the,my,our,your,his,her,its,their,this,that,these,those",
        contractions: "",
        months: "january|february|march|april|may|june|july|august|september|october|november|december",
        weekdays: "monday,mon|tuesday,tue,tues|wednesday,wed|thursday,thu,thur,thurs|friday,fri|saturday,sat|sunday,sun",
        days: "today|tomorrow|yesterday|day after tomorrow",
        before_other_day: "last,past,before",
        after_past_day: "",
        before_month: "of",
        before_offset: "in",
        after_offset: "from now,from today,hence",
        units: "years,year,yrs,yr|months,month|weeks,week,wks,wk,w|days,day,d|hours,hour,hrs,hr,h|\
                minutes,minute,mins,min,m|seconds,second,secs,sec,s",
        yes: "yes,yeah,yep,yup,yea,sure,ok,okay,correct,thats right,that s right,all right,alright,certainly,definitely,absolutely,\
              affirmative,indeed,of course,please do,go ahead,\
              sounds good,no problem,no worries,no doubt,why not,true",
        no: "no,nope,nah,never,negative,incorrect,wrong,no way,of course not,absolutely not,definitely not,certainly not,no thanks,false",
        not: "not,dont,don t,didnt,didn t,isnt,isn t,cant,can t,wont,won t,doesnt,doesn t",
        unsure: "dont know,don t know,not know,not sure,no idea,no clue,maybe,perhaps",
        whole_text_only: ["1,y,right", "0,n"],
        numbers: Some(NumberWords {
            ones: "zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|\
                   nineteen",
            tens: "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety",
            scales: &[("hundred", 2), ("thousand", 3), ("million", 6)],
            and_after_scale: "and",
            point: "point",
            ..NumberWords::NONE
        }),
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
    error: "Something went wrong. Please try again.",
};
