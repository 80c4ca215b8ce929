//! Portuguese.

use super::{Language, LocaleWords};

pub(super) static LANGUAGE: Language = Language {
    code: "pt",
    words: LocaleWords {
        and: "e",
        article: "um,uma",
        half: "meia,meio",
        determiners: "um,uma,o,os,as,meu,minha,meus,minhas,seu,sua,seus,suas,nosso,nossa,este,esta,esse,essa",
        contractions: "de,do,da,dos,das|a,ao,aos|em,no,na,nos,nas|por,pelo,pela,pelos,pelas",
        months: "janeiro|fevereiro|marco|abril|maio|junho|julho|agosto|setembro|outubro|novembro|dezembro",
        weekdays: "segunda feira,segunda|terca feira,terca|quarta feira,quarta|quinta feira,quinta|sexta feira,sexta|sabado|domingo",
        days: "hoje|amanha|ontem|depois de amanha",
        before_other_day: "",
        after_past_day: "passado,passada",
        before_month: "de",
        before_offset: "em,daqui a,dentro de",
        after_offset: "",
        units: "anos,ano|meses,mes|semanas,semana|dias,dia,d|horas,hora,h|minutos,minuto,min,m|segundos,segundo,seg,s",
        yes: "sim,claro,claro que sim,ok,okay,certo,correto,com certeza,exato,esta bem,beleza,verdadeiro,por que nao,sem problema",
        no: "nao,nunca,jamais,falso,errado,de jeito nenhum,claro que nao,com certeza nao",
        not: "nada",
        unsure: "nao sei,nao tenho certeza,talvez",
        whole_text_only: ["1,s", "0,n"],
        numbers: None,
    },
    texts: None,
};
