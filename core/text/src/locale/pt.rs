//! Portuguese.

use super::{Language, LocaleWords};

pub(super) static LANGUAGE: Language = Language {
    code: "pt",
    weekdays: [
        ["segunda-feira", "seg."],
        ["terça-feira", "ter."],
        ["quarta-feira", "qua."],
        ["quinta-feira", "qui."],
        ["sexta-feira", "sex."],
        ["sábado", "sáb."],
        ["domingo", "dom."],
    ],
    words: LocaleWords {
        and: "e",
        determiners: "um,uma,o,os,as,meu,minha,meus,minhas,seu,sua,seus,suas,nosso,nossa,este,esta,esse,essa",
        contractions: "de,do,da,dos,das|a,ao,aos|em,no,na,nos,nas|por,pelo,pela,pelos,pelas",
        questions: "qual,quais,que,quem,quando,onde,aonde,como,quanto,quanta,quantos,quantas,sao,quer,deseja,pode,voce,eu,me,diga,indique,informe,\
            escolha,favor,ou",
        free_words: "pergunta,perguntas,duvida,duvidas,problema,problemas,mensagem,mensagens,pedido,ajuda,ajudar,comentario,comentarios,descreva,descreve,descricao,detalhes,assunto,tema,nota,texto,aconteceu,ideia,ideias,opiniao,motivo,razao,reclamacao,observacao,pesquisa,desejo,conteudo",
    },
    texts: None,
};
