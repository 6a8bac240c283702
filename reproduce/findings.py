"""Main findings of the reproduction, shown at the top of the results page with links to the sections."""

FINDINGS = """
- **Glass has nine attributes**, but the paper on NN-EVCLUS counts ten. The tenth is probably the row number of a
  file that is sorted by class. With this column ECM and CCM reach the printed scores; without it they do not. Both
  versions are in [Table 3](#table-3-and-figures-23-to-25-attribute-data). On Glass, PCCA owes most of its gain to
  this column ([Figure 27](#figures-27-and-28-and-table-8-clustering-with-constraints)).
- **CCM does not use the frame as a focal set.** The printed setting T_c = 2 excludes the frame if there are more than
  two clusters, although the text also mentions the frame. CCM has the printed score on Wine only without the frame
  ([Table 3](#table-3-and-figures-23-to-25-attribute-data)).
- **The weight of the constraints** in k-CEVCLUS is four times the weight in the printed formula. The published
  program uses the larger weight, and only this weight reproduces the printed tables ([Table
  2](#table-2-the-weight-ξ-of-the-constraints), [Table 3](#table-3-the-scale-d0)).
- **The initialization of a network matters more than the training algorithm.** With random initial weights NN-EVCLUS
  loses clusters when there are many of them. Our version starts from the EVCLUS solution and loses none (S2, S4, D31
  in [Table 3](#table-3-and-figures-23-to-25-attribute-data)). The belief peaks that the paper uses for initialization
  are then not needed.
- **Initialization also matters for medoids and prototypes.** In the paper's tables sECMdd scores low. If the initial
  medoids are far from each other, its scores are close to those of the other methods. k-means++ initialization has
  the same effect for ECM and CCM with 15 and 31 clusters.
- **d0 is the most important parameter.** A quantile of 2.5 / c, which decreases with the number of clusters c, finds
  clusters that a fixed quantile misses. A smaller d0 recovers the classes better, but gives fewer ambiguous objects
  and more outliers.
- **The intervals of BootClus have the coverage that the paper reports**: no coverage in three tables is more than 0.03
  below the printed one ([Table
  2](#table-2-coverage-and-length-mixture-1-true-model-eii) and the next two). This is not always the nominal level: if
  the model is too simple, as that selected by BIC for Mixture 3, both are far below it
  ([Table 4](#table-4-coverage-and-length-mixture-3-true-model-vvv)).
- **Two probable misprints**: {no, ov} in Table 10 of the paper on BootClus should be {ch, ov}
  ([Diabetes](#tables-9-and-10-diabetes-by-bootstrapping)); "EVCLUS-bp" and "EMMdd" in the paper on NN-EVCLUS
  should be NN-EVCLUS-bp and sECMdd.
- **Results that depend on an unknown random sample cannot be checked.** BIC selects the paper's model of
  [GvHD](#figures-19-to-21-gvhd-1000-cells-in-seven-clusters) for two of ten samples of a thousand cells. Scores vary
  more between Banana samples than between methods. The papers do not name the six letters, twenty species and 22
  proteins that they use; a [search](#table-2-which-letters-species-and-proteins) compares candidates.
- **The plane of consistency and nonspecificity favors certain partitions.** Of all methods of the library, EK-NNclus,
  EGMM and EVCLUS are dominated least often ([extended](#figures-23-to-26-extended-all-methods-of-the-library)).
  EK-NNclus is dominated least because its partitions are almost certain.
- **Questions about uncertain objects help CECM on three of four data sets** and mislead it on bananas, where the most
  certain object of a cluster belongs to the other class ([active
  learning](#active-learning-suggested-against-random-pairs-with-cecm)).
- **Networks predict new objects from their dissimilarities** almost as well as they cluster the training objects, as
  the paper reports for Zongker, but hardly better than the label of the nearest training object
  ([prediction](#section-42-prediction-dissimilarities-of-new-objects)).
""".strip()
