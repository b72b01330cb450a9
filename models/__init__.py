"""Machine-learning models and what stands for them: embedders, language identifier, bundled checkpoints."""
