"""What the reproduction taught: the first thing to read on the page. Figures are in the sections that are linked."""

FINDINGS = """
- **Glass has nine attributes**, but the paper on NN-EVCLUS gives it ten: the tenth is probably the row number,
  of a file sorted by class. With it ECM and CCM come out as printed, without it they do not; both readings are
  in [Table 3](#table-3-and-figures-23-to-25-attribute-data), and PCCA gains most of what it gains on Glass from
  that column ([Figure 27](#figures-27-and-28-and-table-8-clustering-with-constraints)).
- **CCM leaves out the frame**: the printed T_c = 2 does that to more than two clusters, though the text names
  the frame as well. Only so CCM has the printed figure on Wine ([Table
  3](#table-3-and-figures-23-to-25-attribute-data)).
- **The weight of the constraints** of k-CEVCLUS is four times that of the printed formula: the published
  program has it so, and only with it the printed tables come out ([Table
  2](#table-2-the-weight-ξ-of-the-constraints), [Table 3](#table-3-the-scale-d0)).
- **Where a network starts matters more than how it is trained.** From random weights NN-EVCLUS loses clusters
  when there are many; ours starts where EVCLUS ends and loses none (S2, S4, D31 in [Table
  3](#table-3-and-figures-23-to-25-attribute-data)). It also makes the belief peaks unnecessary that the paper
  resorts to.
- **So do the starts of medoids and prototypes.** sECMdd is not the poor method of the paper's tables: from
  medoids far from each other it comes near the others. k-means++ starts do the same for ECM and CCM with 15 and
  31 clusters.
- **d0 is the parameter that decides**: a quantile that falls as 2.5 / c finds clusters that fixed ones miss. A
  smaller d0 finds classes better, at the price of fewer ambiguous objects and more outliers.
- **The intervals of BootClus keep their promise**: no coverage in three tables is more than 0.03 below the
  printed one ([Table
  2](#table-2-coverage-and-length-mixture-1-true-model-eii) and the next two).
- **Two misprints, it seems**: {no, ov} in Table 10 of the paper on BootClus must be {ch, ov}
  ([Diabetes](#tables-9-and-10-diabetes-by-bootstrapping)); "EVCLUS-bp" and "EMMdd" in the paper on NN-EVCLUS
  must be NN-EVCLUS-bp and sECMdd.
- **What depends on an unknown draw cannot be checked**: BIC chooses the paper's model of
  [GvHD](#figures-19-to-21-gvhd-1000-cells-in-seven-clusters) for two of ten draws of a thousand cells; Banana
  samples differ by more than the methods; six letters, twenty species and 22 proteins are not named.
- **The plane of consistency and nonspecificity rewards certainty.** Of all methods of the library, EK-NNclus,
  BootClus and EGMM are dominated least ([extended](#figures-23-to-26-extended-all-methods-of-the-library)), the
  first because it leaves hardly any doubt.
""".strip()
