"""The names that other toolkits have for our settings: fairseq, OpenNMT, Marian, Hugging Face and short forms."""

from collections.abc import Sequence

_OTHERS = {
    "train.steps": "max_steps train_steps max_update total_steps num_steps num_updates updates iterations "
    "after_batches after epochs max_epoch max_epochs num_train_epochs after_epochs",
    "train.batch_tokens": "batch batch_size max_tokens mini_batch mini_batch_words train_batch_size batch_words "
    "per_device_train_batch_size",
    "train.accumulate": "update_freq accum_count gradient_accumulation gradient_accumulation_steps optimizer_delay",
    "train.peak_rate": "lr learning_rate learn_rate peak_lr max_lr",
    "train.warmup": "warmup_steps warmup_updates lr_warmup num_warmup_steps",
    "train.schedule": "lr_scheduler lr_scheduler_type scheduler decay_method lr_decay lr_decay_inv_sqrt",
    "train.clip": "clip_norm max_grad_norm grad_clip gradient_clip",
    "train.beta1": "adam_beta1 adam_betas optimizer_params",
    "train.beta2": "adam_beta2",
    "train.epsilon": "adam_eps adam_epsilon eps",
    "train.label_smoothing": "smoothing label_smoothing_factor",
    "train.moving_average": "ema ema_decay exponential_smoothing average_decay",
    "train.average_last": "average_checkpoints checkpoint_average average",
    "train.checkpoint_every": "save_every save_steps save_freq save_interval save_interval_updates "
    "save_checkpoint_steps eval_steps eval_every valid_steps valid_freq validate_interval validate_interval_updates "
    "checkpoint_interval",
    "train.log_every": "log_interval logging_steps report_every disp_freq log_steps",
    "train.patience": "early_stopping early_stopping_patience early_stop",
    "train.keep_last": "keep_checkpoint keep_checkpoints keep_last_epochs keep_interval_updates save_total_limit",
    "train.best": "metric_for_best_model best_checkpoint_metric valid_metrics early_stopping_criteria",
    "train.final": "load_best_model_at_end",
    "train.max_minutes": "time max_time stop_time_hours minutes",
    "train.precision": "fp16 bf16 amp model_dtype dtype",
    "train.seed": "random_seed",
    "model.encoder_layers": "layers num_layers n_layers enc_layers enc_depth num_encoder_layers",
    "model.decoder_layers": "dec_layers dec_depth num_decoder_layers",
    "model.d_model": "hidden_size hidden_dim hidden rnn_size dim_emb embed_dim encoder_embed_dim decoder_embed_dim "
    "word_vec_size embedding_size dim model_dim",
    "model.d_ff": "ffn ffn_dim dim_feedforward feed_forward transformer_ff transformer_dim_ffn encoder_ffn_dim "
    "encoder_ffn_embed_dim decoder_ffn_embed_dim intermediate_size",
    "model.heads": "num_heads n_heads nhead attention_heads num_attention_heads encoder_attention_heads "
    "decoder_attention_heads transformer_heads",
    "model.dropout": "dropout_rate drop transformer_dropout hidden_dropout_prob",
    "model.attention_dropout": "attn_dropout attention_dropout_rate transformer_dropout_attention",
    "model.positions": "position_encoding positional_encoding pos_emb",
    "model.norm": "prenorm pre_norm normalize_before encoder_normalize_before transformer_postprocess",
    "model.vocabulary": "vocab vocab_size vocabulary_size src_vocab_size dim_vocabs",
    "model.share_embeddings": "share_all_embeddings tied_embeddings tied_embeddings_all tie_word_embeddings",
    "decode.beam": "beam_size num_beams",
    "decode.alpha": "lenpen length_penalty normalize",
    "decode.extra_length": "max_len_b max_length_factor max_new_tokens",
    "vocabulary": "vocab vocab_size vocabulary_size",
}


def key_of_other_name(key: str, known: Sequence[str]) -> str | None:
    """Return the known key that another toolkit calls so; a section before the name does not matter."""
    name = key.rpartition(".")[2].strip().lower().replace("-", "_")
    return next((ours for ours, names in _OTHERS.items() if ours in known and name in names.split()), None)


def other_names() -> set[str]:
    """Return all names that other toolkits have for our settings."""
    return {name for names in _OTHERS.values() for name in names.split()}
