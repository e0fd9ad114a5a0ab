"""Marian as `transformers` has it, and folders of it as others publish them, for the tests of the exchange with it."""

import io
import json
import warnings
from itertools import product
from pathlib import Path

import torch
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer
from torch import Tensor
from transformers import MarianConfig, MarianMTModel, MarianTokenizer

ENGLISH = [
    f"{who} {does} {what} {where}"
    for who, does, what, where in product(
        ("The old woman", "A teacher", "My neighbour", "This translator"),
        ("sees", "counts", "is looking for", "has never found"),
        ("12 apples", "three bicycles", "big questions", "a “word”"),
        ("in the garden.", "at the station!", "on the street?", "in the snow…"),
    )
]
KOREAN = [
    f"{who} {where} {what} {does}"
    for who, where, what, does in product(
        ("할머니가", "선생님이", "이웃이", "번역가가"),
        ("정원에서", "역에서", "길에서", "눈밭에서"),
        ("사과를", "자전거 3대를", "질문을", "단어를"),
        ("봅니다.", "세고 있다.", "찾았어요!", "좋아해요?"),
    )
]
ODD = [
    "",
    "The old woman sees 12 apples in the garden.",
    "할머니가 정원에서 사과를 봅니다.",
    "\u1112\u1161\u11ab\u1100\u1173\u11af e\u0301 ﬁ ① ｶﾞ",
    "שלום \u202eمرحبا\u202c, world",
    "👩\u200d👩\u200d👧 🏳\ufe0f\u200d🌈 apples",
    "漢字 apples 漢",
    "  two   spaces  ",
    "a\u0301\u0323b \u00a0\u3000 x",
]


def tokenizer(folder: Path) -> MarianTokenizer:
    """Marian's tokenizer, without the package that it recommends and that would change punctuation first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = MarianTokenizer.from_pretrained(folder)
    found.punc_normalizer = lambda text: text
    return found


def marian(folder: Path) -> MarianMTModel:
    return MarianMTModel.from_pretrained(folder).eval()


def ids(tokens: MarianTokenizer, texts: list[str], *, target: bool = False) -> list[list[int]]:
    """Without the end."""
    found = tokens(text_target=texts) if target else tokens(texts)
    return [row[:-1] for row in found["input_ids"]]


@torch.no_grad()
def logits(model: MarianMTModel, source_BS: Tensor, target_BT: Tensor, pad: int) -> Tensor:
    return model(input_ids=source_BS, attention_mask=source_BS != pad, decoder_input_ids=target_BT).logits


def trained(sentences: list[str], size: int, **settings: object) -> bytes:
    """A sentencepiece model as OPUS-MT has them: unigram, NFKC, no bytes."""
    writer = io.BytesIO()
    options = {"model_type": "unigram", "vocab_size": size, "minloglevel": 5, "num_threads": 1}
    options |= {"hard_vocab_limit": False, **settings}
    SentencePieceTrainer.Train(sentence_iterator=iter(sentences), model_writer=writer, **options)
    return writer.getvalue()


def publish(
    folder: Path,
    *,
    bias: bool = True,
    separate: bool = False,
    left_out: tuple[str, ...] = (),
    languages: tuple[str, ...] = (),
    shards: str = "10GB",
    **changes: object,
) -> None:
    """A Marian folder as the OPUS-MT converter makes them: </s> is 0, <unk> 1, <pad> the last and the first to say."""
    contents = {"source": trained(ENGLISH, 120), "target": trained([*KOREAN, "漢字"], 130)}
    folder.mkdir()
    pieces = {}
    for side, content in contents.items():
        (folder / f"{side}.spm").write_bytes(content)
        processor = SentencePieceProcessor(model_proto=content)
        pieces[side] = [processor.IdToPiece(number) for number in range(3, len(processor))]
    lists = [pieces["source"], pieces["target"]] if separate else [[*pieces["source"], *pieces["target"]]]
    sizes = []
    for name, some in zip(("vocab.json", "target_vocab.json"), lists, strict=False):
        names = dict.fromkeys(["</s>", "<unk>", *some, *languages, "<pad>"])
        numbers = {piece: number for number, piece in enumerate(piece for piece in names if piece not in left_out)}
        sizes.append(len(numbers))
        (folder / name).write_text(json.dumps(numbers), encoding="utf-8")
    if separate:  # the converter gives both as many, so that <pad> has one number
        size = max(sizes)
        for name in ("vocab.json", "target_vocab.json"):
            numbers = json.loads((folder / name).read_text(encoding="utf-8"))
            (folder / name).write_text(json.dumps(numbers | {"<pad>": size - 1}), encoding="utf-8")
    size = max(sizes)
    config = MarianConfig(
        **{
            "vocab_size": size,
            "decoder_vocab_size": size,
            "d_model": 16,
            "encoder_layers": 2,
            "decoder_layers": 2,
            "encoder_ffn_dim": 24,
            "decoder_ffn_dim": 24,
            "encoder_attention_heads": 4,
            "decoder_attention_heads": 4,
            "activation_function": "swish",
            "scale_embedding": True,
            "share_encoder_decoder_embeddings": not separate,
            "pad_token_id": size - 1,
            "decoder_start_token_id": size - 1,
            "eos_token_id": 0,
            "forced_eos_token_id": None,
            "max_position_embeddings": 64,
            **changes,
        }
    )
    torch.manual_seed(5)
    model = MarianMTModel(config)
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            if "embed_positions" not in name:
                tensor.add_(torch.randn_like(tensor) * 0.2)
        if bias:
            model.final_logits_bias.copy_(torch.randn_like(model.final_logits_bias))
    model.save_pretrained(folder, max_shard_size=shards)
    settings = {"tokenizer_class": "MarianTokenizer", "separate_vocabs": separate}
    settings |= {"source_lang": "en", "target_lang": "ko"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
